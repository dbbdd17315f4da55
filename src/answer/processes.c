/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question processes: a folder of recordings as one.  See processes.h.
 *
 * Each recording names the one that it came from (its parent before fork or exec, itself before
 * exec) by its id; those that name none, or one that is not there, stand at the top. */
#include "answer/processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "answer/folder.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/words.h"

static char *info_text(const struct model *m, const char *key)
{
	const char *text = model_info(m, key);

	return xstrdup(text ? text : "");
}

static int64_t info_number(const struct model *m, const char *key)
{
	return model_info(m, key) ? (int64_t)model_info_number(m, key, 0) : -1;
}

void process_label(const struct model *m, struct buf *out)
{
	const char *title = model_info(m, "title"), *program = model_info(m, "executable");

	buf_text(out, title ? title : program ? path_base(program) : "program");
}

static void describe_process(struct process *p, const struct snapshot *s, size_t member)
{
	const struct model *m = s->model;
	const char *parent = model_info(m, "parent_id");
	struct buf title = { 0 }, command = { 0 };

	words_title(&title, m);
	words_command(&command, m);
	*p = (struct process){
		.member = member,
		.title = title.data ? title.data : info_text(m, "executable"),
		.command = command.data ? command.data : info_text(m, "executable"),
		.executable = info_text(m, "executable"),
		.origin = info_text(m, "origin"),
		.end_reason = info_text(m, "end_reason"),
		.pid = model_info_number(m, "pid", 0),
		.parent_pid = model_info_number(m, "parent_pid", model_info_number(m, "ppid", 0)),
		.start_ns = model_start_ns(m),
		.runtime_ns = model_runtime_ns(m),
		.peak_rss = model_info_number(m, "peak_rss", 0),
		.inherited_bytes = model_info_number(m, "inherited_bytes", 0),
		.exit_status = info_number(m, "exit_status"),
		.exit_signal = info_number(m, "exit_signal"),
		.totals = m->totals,
		.complete = m->reader.ended && m->loss.kind == LOSS_NONE,
		.running = s->live,
		.parent = PROCESS_NONE,
	};
	snapshot_id(p->id, m->reader.header.id);
	if (parent)
		snprintf(p->parent_id, sizeof(p->parent_id), "%s", parent);
}

ORDER(by_start, struct process, RISING(start_ns) ?: RISING(member))

/* A parent started before its child; so there is no circle, whatever the files say. */
static void find_parents(struct answer_processes *ret)
{
	auto_release(strings_release) struct strings ids = { 0 };
	auto_release(map_release) struct map row_of = { 0 };
	uint64_t parent;

	strings_init(&ids);
	for (uint32_t i = 0; i < ret->count; i++) {
		struct process *p = &ret->rows[i];

		if (*p->parent_id && map_get(&row_of, strings_add(&ids, p->parent_id), &parent)) {
			p->parent = (uint32_t)parent;
			p->became = ret->rows[parent].pid == p->pid;
		}
		map_set(&row_of, strings_add(&ids, p->id), i);
	}
}

/* From the order of their start into that of a walk. */
static void order_rows(struct answer_processes *ret)
{
	uint32_t n = ret->count, at = 0, depth = 0, i;
	struct process *walked = xcalloc((size_t)n + 1, sizeof(*walked));
	uint32_t *first = xcalloc((size_t)n + 1, sizeof(*first)),
		 *next = xcalloc(n + 1, sizeof(*next));
	auto_free uint32_t *to = xcalloc((size_t)n + 1, sizeof(*to));

	/* Lists of children, plus one, those that started last in first: so the first is in front.
	 */
	for (i = n; i-- > 0;) {
		uint32_t *list =
			&first[ret->rows[i].parent == PROCESS_NONE ? n : ret->rows[i].parent];

		next[i] = *list;
		*list = i + 1;
	}
	for (i = first[n]; i;) {
		uint32_t row = i - 1;

		to[row] = at;
		walked[at] = ret->rows[row];
		walked[at].depth = depth;
		if (walked[at].parent != PROCESS_NONE)
			walked[at].parent = to[walked[at].parent];
		at++;
		if (first[row]) {
			depth++;
			i = first[row];
			continue;
		}
		while (!next[row] && ret->rows[row].parent != PROCESS_NONE) {
			depth--;
			row = ret->rows[row].parent;
		}
		i = next[row];
	}
	free(ret->rows);
	free(first);
	free(next);
	ret->rows = walked;
}

struct edge {
	uint64_t ns;
	bool start;
	uint64_t bytes;
};

/* What ends makes room first. */
ORDER(by_time, struct edge, RISING(ns) ?: RISING(start))

/* What those that ran at the same time had at most: each one's peak for as long as it ran. */
static uint64_t most_together(const struct answer_processes *p)
{
	auto_free struct edge *edges = xcalloc((size_t)2 * p->count + 1, sizeof(*edges));
	uint64_t now = 0, most = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct process *r = &p->rows[i];

		edges[2 * i] = (struct edge){ r->start_ns, true, r->totals.peak_bytes };
		edges[2 * i + 1] = (struct edge){ r->start_ns + r->runtime_ns + 1, false,
						  r->totals.peak_bytes };
	}
	SORT(edges, (size_t)2 * p->count, by_time);
	for (uint32_t i = 0; i < 2 * p->count; i++) {
		now = edges[i].start ? now + edges[i].bytes : now - edges[i].bytes;
		most = now > most ? now : most;
	}
	return most;
}

static void sum_up(struct answer_processes *ret)
{
	struct process_sums *s = &ret->sums;

	for (uint32_t i = 0; i < ret->count; i++) {
		const struct process *p = &ret->rows[i];
		uint64_t end = p->start_ns + p->runtime_ns;

		s->recordings++;
		s->processes += !p->became;
		s->running += p->running;
		s->events += p->totals.events;
		s->allocations += p->totals.allocations;
		s->allocated_bytes += p->totals.allocated_bytes;
		s->leaked_bytes += p->totals.live_bytes;
		s->leaked_count += p->totals.live_count;
		s->peak_bytes += p->totals.peak_bytes;
		s->peak_rss += p->peak_rss;
		if (!s->start_ns || p->start_ns < s->start_ns)
			s->start_ns = p->start_ns;
		s->end_ns = end > s->end_ns ? end : s->end_ns;
	}
	s->together_bytes = most_together(ret);
}

ORDER(by_peak, struct process *const,
      COMPARE((*y)->totals.peak_bytes, (*x)->totals.peak_bytes) ?: COMPARE(*x, *y))

/* The ones with the highest peaks, and those that they came from. */
static void choose_rows(struct answer_processes *ret, uint32_t most)
{
	struct process **order = xcalloc((size_t)ret->count + 1, sizeof(*order));

	for (uint32_t i = 0; i < ret->count; i++)
		order[i] = &ret->rows[i];
	SORT(order, ret->count, by_peak);
	for (uint32_t i = 0; i < ret->count && i < most; i++)
		for (struct process *p = order[i]; !p->shown; p = &ret->rows[p->parent]) {
			p->shown = true;
			ret->shown++;
			if (p->parent == PROCESS_NONE)
				break;
		}
	free(order);
}

const struct process *process_of(const struct answer_processes *p, size_t member)
{
	uint32_t i = 0;

	while (p->rows[i].member != member)
		i++;
	return &p->rows[i];
}

static int read_member(struct ask *a, struct answer_processes *ret, struct snapshot *s,
		       size_t member, size_t *room)
{
	struct measuring how;
	struct other other;

	ret->rows = xgrow(ret->rows, ret->count, room, sizeof(*ret->rows));
	describe_process(&ret->rows[ret->count++], s, member);
	if (!ret->top)
		return 0;
	if (!ask_other_view(a, s, &other))
		return -EINVAL;
	how = measuring_of(s->model, ret->measure, 0);
	process_holders_add(&ret->holders, other.held->view, &how, member);
	ask_give(&other);
	return 0;
}

static int processes_compute(struct ask *a, void *answer)
{
	struct answer_processes *ret = answer;
	struct folder *f = a->snapshot->folder;
	size_t room = 0;
	int error = 0;

	process_holders_init(&ret->holders);
	ret->measure = measure_find(ask_text(a, "measure"));
	ret->top = ask_count(a, "top");
	for (size_t i = 0; i < f->count && !error; i++) {
		struct snapshot *s = folder_take(f, i, &f->members[i].err);

		if (!s)
			ret->failed++;
		else
			error = read_member(a, ret, s, i, &room);
		snapshot_drop(s);
	}
	if (error)
		return error;
	if (!ret->count)
		return ask_fail(a, 404, NULL, "there is no recording in this folder");
	SORT(ret->rows, ret->count, by_start);
	find_parents(ret);
	order_rows(ret);
	sum_up(ret);
	choose_rows(ret, ask_count(a, "count"));
	process_holders_sort(&ret->holders);
	return 0;
}

static void number_or_null(struct json *j, const char *key, int64_t value)
{
	json_number_if(j, key, value >= 0, (uint64_t)value);
}

static void process_json(struct json *j, const struct answer_processes *all,
			 const struct process *p, const struct folder *f)
{
	json_object(j, NULL);
	json_text(j, "file", f->members[p->member].name);
	json_text(j, "id", f->members[p->member].id);
	json_text(j, "parent_id",
		  p->parent != PROCESS_NONE ? f->members[all->rows[p->parent].member].id : NULL);
	JSON_MEMBERS(j, p, depth, origin, became, pid, parent_pid, executable, command, title,
		     end_reason);
	number_or_null(j, "exit_status", p->exit_status);
	number_or_null(j, "exit_signal", p->exit_signal);
	json_bool(j, "running", p->running);
	json_real(j, "start", (double)p->start_ns / 1e9, 6);
	json_number(j, "runtime_ns", p->runtime_ns);
	JSON_MEMBERS(j, &p->totals, events, allocations, allocated_bytes, peak_bytes);
	json_number(j, "leaked_bytes", p->totals.live_bytes);
	json_number(j, "leaked_count", p->totals.live_count);
	json_number(j, "inherited_bytes", p->inherited_bytes);
	number_or_null(j, "peak_rss", p->peak_rss ? (int64_t)p->peak_rss : -1);
	json_bool(j, "truncated", !p->complete);
	json_end_object(j);
}

static void sums_json(struct json *j, const struct process_sums *s)
{
	json_object(j, "total");
	JSON_MEMBERS(j, s, recordings, processes, running, events, allocations, allocated_bytes,
		     peak_bytes, together_bytes, peak_rss, leaked_bytes, leaked_count);
	json_real(j, "start", (double)s->start_ns / 1e9, 6);
	json_number(j, "runtime_ns", s->end_ns - s->start_ns);
	json_end_object(j);
}

static void holders_json(struct json *j, const struct answer_processes *p, const struct folder *f)
{
	const struct process_holders *h = &p->holders;

	json_object(j, "held");
	json_text(j, "measure", measure_rows[p->measure].name);
	JSON_MEMBERS(j, &h->total, bytes, count);
	json_number(j, "total_count", h->count);
	JSON_ROWS(j, "holders", i, MIN(h->count, p->top)) {
		const struct process_holder *row = &h->rows[i];

		json_text(j, "function", strings_at(&h->strings, row->name));
		json_text(j, "module", strings_at(&h->strings, row->module));
		JSON_MEMBERS(j, &row->weight, bytes, count);
		json_number(j, "processes", row->processes);
		json_text(j, "most_in", f->members[row->most].id);
		json_number(j, "most_bytes", row->most_bytes);
	}
	json_end_object(j);
}

static void processes_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_processes *p = answer;
	const struct folder *f = a->snapshot->folder;

	sums_json(j, &p->sums);
	JSON_EACH(j, "recordings", i, p->count) {
		if (p->rows[i].shown)
			process_json(j, p, &p->rows[i], f);
		sink_turn(out);
	}
	json_number(j, "failed", p->failed);
	if (p->top)
		holders_json(j, p, f);
}

static void processes_drop(void *answer)
{
	struct answer_processes *p = answer;

	for (uint32_t i = 0; i < p->count; i++) {
		free(p->rows[i].title);
		free(p->rows[i].command);
		free(p->rows[i].executable);
		free(p->rows[i].origin);
		free(p->rows[i].end_reason);
	}
	free(p->rows);
	process_holders_release(&p->holders);
}

static const struct param_row params[] = {
	{ "count", PARAM_COUNT, "all",
	  "recordings with the highest peaks, and those that they came from", .letter = 'c' },
	{ "top", PARAM_COUNT, "0", "functions that hold most, of all processes", .letter = 'n' },
	{ "measure", PARAM_CHOICE, "peak", "what these are weighed by, in each process",
	  .values = "peak|leaked|allocated|temporary", .letter = 'm' },
	{ 0 },
};

const struct question question_processes = {
	.name = "processes",
	.help = "the recordings of a folder as a tree, their sums, and what they hold together",
	.kind = "processes",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_processes),
	.compute = processes_compute,
	.write_members = processes_json,
	.release = processes_drop,
};
