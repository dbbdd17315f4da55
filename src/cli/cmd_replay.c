/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir replay: the recording's calls once more, with one allocator after the other. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer/facts.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/progress.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/shape.h"
#include "cli/table.h"
#include "cli/waiting.h"
#include "query/allocator.h"
#include "replay/compile.h"
#include "replay/launch.h"
#include "replay/what_if.h"

#define REPEAT_MAX 1000
#define USUAL_DECAY 10000000000ull /* of jemalloc, in ns */

static bool as_json, one_thread, no_glibc;
static uint64_t repeat = 3;
static const char *color, *touch_text;
static const char **given;
static size_t given_count, given_room;
static const char **changes;
static size_t change_count, change_room;

static const char *const touch_names[TOUCHES] = { "none", "pages", "all" };

static const char *add_allocator(const struct command_option *row, const char *value)
{
	*xpush(given, given_count, given_room) = value;
	return NULL;
}

static const char *add_change(const struct command_option *row, const char *value)
{
	*xpush(changes, change_count, change_room) = value;
	return NULL;
}

static const struct command_option options[] = {
	CALL("allocator", 'a', "LIB",
	     "one more to compare: jemalloc, tcmalloc, mimalloc, a path; NAME=VALUE before it sets "
	     "its environment",
	     add_allocator, .words = "jemalloc|tcmalloc|mimalloc"),
	CALL("what-if", 'W', "CHANGE",
	     "what that would give back of the memory that is resident with the program's own "
	     "allocator (or with one --allocator): trim, arena-max=N, decay=TIME or "
	     "allocator=LIB, several with commas between; may be repeated",
	     add_change, .words = "trim|arena-max=|decay=|allocator="),
	FLAG("no-glibc", 0, "only those, not the C library's too", &no_glibc),
	VALUE("repeat", 'r', "N", "run each so often and show medians (3)", &repeat),
	VALUE("touch", 't', "WHAT",
	      "what is written of each new block: pages (a byte in each), all or none (pages)",
	      &touch_text, .words = "pages|all|none"),
	FLAG("one-thread", '1', "all calls on one thread, in the order of the recording",
	     &one_thread),
	FLAG("json", 0, "print JSON", &as_json),
	WAITING_ROWS,
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	{ 0 },
};

/* An allocator and what became of it. */
struct entry {
	struct allocator allocator;
	struct what_if change; /* with --what-if: whose allocator it is */
	struct plan_result *runs;
	struct plan_result median; /* field by field */
	bool failed;
};

struct replay {
	struct compile compile;
	struct entry *entries;
	size_t count;
	enum plan_touch touch;
	double faster; /* than the program, where that matters; else 0 */
	struct term term;
};

ORDER(by_value, uint64_t, COMPARE(*x, *y))

static uint64_t median_of(const struct plan_result *runs, size_t offset)
{
	uint64_t values[REPEAT_MAX];

	for (uint64_t i = 0; i < repeat; i++)
		memcpy(&values[i], (const char *)&runs[i] + offset, sizeof(values[i]));
	SORT(values, repeat, by_value);
	return values[repeat / 2];
}

static void find_median(struct entry *e)
{
#define MEDIAN(field) e->median.field = median_of(e->runs, offsetof(struct plan_result, field))
	e->median = e->runs[0];
	MEDIAN(time_ns);
	MEDIAN(cpu_ns);
	MEDIAN(peak_rss);
	MEDIAN(end_rss);
	MEDIAN(peak_bytes);
	MEDIAN(faults);
#undef MEDIAN
}

/* What was resident beyond what was asked for; below 0 where blocks are not written to. */
static int64_t beyond(const struct plan_result *r)
{
	return (int64_t)(r->peak_rss - r->peak_bytes);
}

/* With --what-if there is one, and the changes to it. */
static bool parse_changes(struct replay *r, const struct model *m)
{
	static const char *const known[] = { "jemalloc", "tcmalloc", "mimalloc" };
	const char *recorded = model_info(m, "allocator"), *name = "glibc";
	struct entry *first = &r->entries[0];
	struct err err = { .offset = ERR_NO_OFFSET };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && recorded; i++)
		if (strstr(recorded, known[i]))
			name = known[i];
	r->count = change_count + 1;
	first->change.decay_ns = DECAY_NONE;
	if (allocator_parse(&first->allocator, given_count ? given[0] : name, &err)) {
		fprintf(stderr, "memoir replay: %s\n", err.text);
		return false;
	}
	for (size_t i = 0; i < change_count; i++) {
		struct entry *e = &r->entries[i + 1];

		if (what_if_parse(&e->change, changes[i], &first->allocator, &err)) {
			what_if_release(&e->change);
			fprintf(stderr, "memoir replay: --what-if %s: %s\n", changes[i], err.text);
			return false;
		}
		e->allocator = e->change.allocator;
	}
	return true;
}

static bool parse_allocators(struct replay *r)
{
	struct err err;

	r->entries = xcalloc(given_count + change_count + 1, sizeof(*r->entries));
	if (change_count) /* when it is known what the program had */
		return true;
	if (!no_glibc)
		allocator_parse(&r->entries[r->count++].allocator, "glibc", &err);
	for (size_t i = 0; i < given_count; i++)
		if (allocator_parse(&r->entries[r->count++].allocator, given[i], &err)) {
			fprintf(stderr, "memoir replay: %s\n", err.text);
			return false;
		}
	if (r->count)
		return true;
	fprintf(stderr, "memoir replay: --no-glibc needs an --allocator\n");
	return false;
}

/* Refuses what would drive the machine into its swap, or out of memory. */
static bool has_room(const struct replay *r)
{
	const struct compile *c = &r->compile;
	uint64_t blocks = c->peak_bytes + c->peak_bytes / 8 + c->peak_live * 16;
	uint64_t tables = compile_memory(c), available = memory_available();

	if (r->touch == TOUCH_NONE)
		blocks = 0;
	if (blocks + tables <= available)
		return true;
	fprintf(stderr,
		"memoir replay: its peak of %s and %s of the replay's own do not fit into the %s "
		"that are available; a filter chooses less%s\n",
		size_text(c->peak_bytes), size_text(tables), size_text(available),
		blocks ? ", --touch none uses no pages" : "");
	return false;
}

static bool counts_are_right(const struct compile *c, const struct plan_result *r, struct err *err)
{
	if (r->failed) {
		err_set(err, -1, "%llu allocation%s failed", (unsigned long long)r->failed,
			r->failed == 1 ? "" : "s");
		return false;
	}
	if (r->allocations == c->allocations && r->reallocations == c->reallocations &&
	    r->frees == c->frees)
		return true;
	err_set(err, -1, "made %llu allocations and %llu frees instead of %llu and %llu",
		(unsigned long long)r->allocations, (unsigned long long)r->frees,
		(unsigned long long)c->allocations, (unsigned long long)c->frees);
	return false;
}

static double seconds_of_calls(const struct compile *c)
{
	return (double)model_runtime_ns(c->view->model) / 1e9;
}

/* jemalloc gives back what has not been used for a while, and in a replay no time passes between
 * calls: the times that are asked about become shorter, and the ten seconds that it has otherwise.
 */
static bool prepare_decay(struct replay *r, int plan_fd)
{
	struct plan_result run;
	struct err err;

	if (!change_count || !ANY(i, r->count, what_if_is_jemalloc(&r->entries[i].allocator)))
		return true;
	if (launch_replay(&r->entries[0].allocator, plan_fd, r->touch, TRIM_NEVER, &run, &err)) {
		fprintf(stderr, "memoir replay: %s: %s\n", r->entries[0].allocator.text, err.text);
		return false;
	}
	r->faster = MAX(1.0, seconds_of_calls(&r->compile) / ((double)(run.time_ns + 1) / 1e9));
	for (size_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];
		uint64_t ns = e->change.decay_ns;

		if (what_if_is_jemalloc(&e->allocator) &&
		    (ns != DECAY_NONE || !what_if_has_decay(&e->allocator)))
			what_if_set_decay(&e->allocator, ns == DECAY_NONE ? USUAL_DECAY : ns,
					  r->faster);
	}
	return true;
}

/* All allocators take turns, so that none has the machine's better minutes for itself. */
static bool run_all(struct replay *r, int plan_fd)
{
	struct progress bar;
	bool good = true;

	for (size_t i = 0; i < r->count; i++)
		r->entries[i].runs = xcalloc(repeat, sizeof(*r->entries[i].runs));
	progress_start(&bar, "replaying");
	for (uint64_t n = 0; n < repeat * r->count; n++) {
		struct entry *e = &r->entries[n % r->count];
		struct plan_result *run = &e->runs[n / r->count];
		struct err err;

		if (e->failed)
			continue;
		if (launch_replay(&e->allocator, plan_fd, r->touch, e->change.trim, run, &err) ||
		    !counts_are_right(&r->compile, run, &err)) {
			progress_end(&bar);
			fprintf(stderr, "memoir replay: %s: %s\n", e->allocator.text, err.text);
			e->failed = true;
			good = false;
		}
		progress_update(&bar, n + 1, repeat * r->count);
	}
	progress_end(&bar);
	for (size_t i = 0; i < r->count; i++)
		if (!r->entries[i].failed)
			find_median(&r->entries[i]);
	return good;
}

static void add_row(struct table *t, const struct entry *e)
{
	const struct plan_result *m = &e->median;
	int64_t more = beyond(m);
	struct human a;

	table_cell(t, human_duration(&a, m->time_ns));
	table_cell(t, human_duration(&a, m->cpu_ns));
	table_cell(t, human_size(&a, m->peak_rss));
	human_size(&a, (uint64_t)(more < 0 ? -more : more));
	table_cellf(t, "%s%s", more < 0 ? "-" : "", a.text);
	table_cell(t, more < 0 || !m->peak_bytes ? "" : share_text((uint64_t)more, m->peak_bytes));
	table_cell(t, human_size(&a, m->end_rss));
	table_cell(t, human_count(&a, m->faults));
	table_cell(t, e->allocator.text);
}

static void print_notes(struct buf *out, const struct replay *r)
{
	static const char *const touched[TOUCHES] = {
		"blocks are not written to (--touch none)",
		"one byte is written to each page of a block (--touch pages)",
		"every byte of a block is written (--touch all)",
	};
	const struct compile *c = &r->compile;

	term_printf(&r->term, out, "\n{dim}medians of %s run%s, %s\n%s\n", count_text(repeat),
		    repeat == 1 ? "" : "s",
		    one_thread ? "all calls on one thread" : "each thread's calls on its own",
		    touched[r->touch]);
	if (!change_count)
		buf_text(out,
			 "beyond: peak RSS beyond the bytes that were asked for and alive then\n");
	if (ANY(i, r->count, r->entries[i].change.trim == TRIM_OFTEN))
		buf_text(out,
			 "trim: all that is free is given back, up to 256 times and at the end\n");
	if (r->faster > 1)
		buf_printf(out,
			   "jemalloc's decay times are divided by %.0f: the replay is so much "
			   "faster\n",
			   r->faster);
	if (c->guessed)
		buf_printf(out,
			   "alignments are not recorded: %s blocks have what their addresses have "
			   "in common\n",
			   count_text(c->guessed));
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
}

static void add_gain(struct table *t, uint64_t with, uint64_t without)
{
	uint64_t by = with < without ? without - with : with - without;

	table_cellf(t, "%s%s", with <= without || !by ? "" : "-", size_text(by));
	table_cellf(t, "%s%s", with <= without || !by ? "" : "-",
		    without ? share_text(by, without) : "");
}

/* What each change gives back, beside the one row without any. */
static void print_changes(struct buf *out, const struct replay *r)
{
	static const struct table_column columns[] = {
		{ "RSS at end" },
		{ "gives back", .style = STYLE_STRONG },
		{ "" },
		{ "peak RSS" },
		{ "gives back", .style = STYLE_STRONG },
		{ "" },
		{ "time", .style = STYLE_NUMBER, .narrow = 90 },
		{ "what if", .left = true, .style = STYLE_FUNCTION },
		{ 0 },
	};
	const struct plan_result *base = &r->entries[0].median;
	struct table t;

	table_init(&t, columns);
	for (size_t i = 0; i < r->count; i++) {
		const struct entry *e = &r->entries[i];

		if (e->failed)
			continue;
		table_cell(&t, size_text(e->median.end_rss));
		if (i)
			add_gain(&t, e->median.end_rss, base->end_rss);
		else
			table_cell(&t, ""), table_cell(&t, "");
		table_cell(&t, size_text(e->median.peak_rss));
		if (i)
			add_gain(&t, e->median.peak_rss, base->peak_rss);
		else
			table_cell(&t, ""), table_cell(&t, "");
		table_cell(&t, duration_text(e->median.time_ns));
		if (i)
			table_cell(&t, e->allocator.text);
		else
			table_cellf(&t, "as it is: %s", e->allocator.text);
	}
	table_print(&t, &r->term, true, out);
	table_release(&t);
}

static void print_text(struct buf *out, const struct replay *r)
{
	static const struct table_column columns[] = {
		{ "time", .style = STYLE_NUMBER },
		{ "cpu", .narrow = 76 },
		{ "peak RSS", .style = STYLE_STRONG },
		{ "beyond" },
		{ "", .narrow = 90 },
		{ "RSS at end" },
		{ "faults", .narrow = 66 },
		{ "allocator", .left = true, .style = STYLE_FUNCTION },
		{ 0 },
	};
	const struct compile *c = &r->compile;
	const struct model *m = c->view->model;
	struct table table;

	about_text_program(out, &r->term, m);
	if (c->view->filter)
		about_text_filter(out, &r->term, c->view);
	about_line(out, &r->term, "calls", "%s allocations, %s of them reallocs; %s frees",
		   count_text(c->allocations), count_text(c->reallocations), count_text(c->frees));
	about_line(out, &r->term, "threads", "%s", count_text(c->thread_count));
	about_line(out, &r->term, "alive", "%s at the peak, %s at the end",
		   size_text(c->peak_bytes), size_text(c->bytes));
	shape_removed(out, &r->term, m);
	buf_char(out, '\n');
	if (change_count) {
		if (!r->entries[0].failed)
			print_changes(out, r);
	} else {
		table_init(&table, columns);
		for (size_t i = 0; i < r->count; i++)
			if (!r->entries[i].failed)
				add_row(&table, &r->entries[i]);
		table_print(&table, &r->term, true, out);
		table_release(&table);
	}
	print_notes(out, r);
}

static void json_run(struct json *j, const struct plan_result *r)
{
	JSON_MEMBERS(j, r, time_ns, cpu_ns, peak_rss, end_rss, peak_bytes, end_bytes);
	json_real(j, "fragmentation_bytes", (double)beyond(r), 0);
	json_number(j, "page_faults", r->faults);
	JSON_MEMBERS(j, r, allocations, reallocations);
	json_number(j, "deallocations", r->frees);
}

static void json_change(struct json *j, const struct plan_result *with,
			const struct plan_result *without)
{
	json_real(j, "gives_back_at_end", (double)without->end_rss - (double)with->end_rss, 0);
	json_real(j, "gives_back_at_peak", (double)without->peak_rss - (double)with->peak_rss, 0);
}

static void json_entry(struct json *j, const struct replay *r, const struct entry *e)
{
	if (e > r->entries && change_count) {
		json_text(j, "what_if", e->allocator.text);
		if (!e->failed && !r->entries[0].failed)
			json_change(j, &e->median, &r->entries[0].median);
	}
	json_text(j, "allocator", e->allocator.text);
	json_bool(j, "failed", e->failed);
	if (!e->failed) {
		json_text(j, "library", e->median.library);
		json_run(j, &e->median);
		JSON_ROWS(j, "runs", i, repeat)
			json_run(j, &e->runs[i]);
	}
}

static void print_json(struct buf *out, const struct replay *r)
{
	const struct compile *c = &r->compile;
	const struct model *m = c->view->model;
	struct json j = { .out = out };

	json_object(&j, NULL);
	facts_program_json(&j, m);
	facts_loss_json(&j, m);
	json_object(&j, "calls");
	JSON_MEMBERS(&j, c, allocations, reallocations);
	json_number(&j, "deallocations", c->frees);
	json_number(&j, "peak_bytes", c->peak_bytes);
	json_number(&j, "end_bytes", c->bytes);
	json_number(&j, "threads", c->thread_count);
	json_number(&j, "guessed_alignments", c->guessed);
	json_number(&j, "removed_allocations", m->totals.allocations - m->recorded.allocations);
	json_end_object(&j);
	json_text(&j, "touch", touch_names[r->touch]);
	json_bool(&j, "one_thread", one_thread);
	json_number(&j, "repeat", repeat);
	json_number_if(&j, "decay_divided_by", r->faster > 0, (uint64_t)r->faster);
	JSON_ROWS(&j, "allocators", i, r->count)
		json_entry(&j, r, &r->entries[i]);
	json_end_object(&j);
}

static int replay(struct replay *r, const struct opened *o)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_buf struct buf out = { 0 };
	struct progress bar;
	int plan_fd, status = o->status;

	if (change_count && !parse_changes(r, o->view->model))
		return 1;
	progress_start(&bar, "preparing");
	compile_start(&r->compile, o->view, one_thread, &bar);
	if (!has_room(r)) {
		progress_end(&bar);
		return 1;
	}
	plan_fd = compile_finish(&r->compile, &err);
	progress_end(&bar);
	if (plan_fd < 0) {
		fprintf(stderr, "memoir replay: %s\n", err.text);
		return 1;
	}
	if (!has_room(r)) {
		close(plan_fd);
		return 1;
	}
	if (!r->compile.allocations)
		fprintf(stderr,
			"memoir replay: no allocation matches; there is nothing to repeat\n");
	if (!prepare_decay(r, plan_fd) || !run_all(r, plan_fd))
		status = 1;
	close(plan_fd);
	if (as_json)
		print_json(&out, r);
	else
		print_text(&out, r);
	if (buf_flush(&out, 1))
		status = 1;
	return status;
}

static void release(struct replay *r)
{
	compile_release(&r->compile);
	for (size_t i = 0; i < r->count; i++) {
		allocator_release(&r->entries[i].allocator); /* the change's is the same */
		free(r->entries[i].runs);
	}
	free(r->entries);
}

static int run_replay(int argc, char **argv)
{
	struct open_options how = { .quiet = true };
	struct replay r = { .touch = TOUCH_PAGES };
	struct opened o;
	int status = 2;

	term_init(&r.term, 1, color);
	if (touch_text &&
	    (r.touch = shape_word("replay", "touch", touch_text, touch_names, TOUCHES)) == TOUCHES)
		return 2;
	if (!repeat || repeat > REPEAT_MAX) {
		fprintf(stderr, "memoir replay: --repeat is 1 to %d\n", REPEAT_MAX);
		return 2;
	}
	if (change_count && (given_count > 1 || no_glibc)) {
		fprintf(stderr, "memoir replay: --what-if changes one allocator\n");
		return 2;
	}
	if (!parse_allocators(&r)) {
		release(&r);
		return 1;
	}
	if (open_view("replay", argc, argv, &how, &o)) {
		status = replay(&r, &o);
		compile_release(&r.compile);
		opened_release(&o);
	} else {
		status = o.status;
	}
	release(&r);
	return status;
}

const struct command command_replay = {
	.name = "replay",
	.args = "FILE",
	.help = "make its calls again with other allocators, and compare",
	.examples =
		"  memoir replay app.dat -a jemalloc -a tcmalloc -a mimalloc\n"
		"  memoir replay app.dat -a 'GLIBC_TUNABLES=glibc.malloc.arena_max=1 glibc'\n"
		"  memoir replay app.dat -a jemalloc -a 'MALLOC_CONF=dirty_decay_ms:0 jemalloc'\n"
		"  memoir replay app.dat --what-if trim --what-if arena-max=2\n"
		"  memoir replay app.dat --what-if trim -W allocator=jemalloc -W "
		"allocator=jemalloc,decay=0\n"
		"  memoir replay --one-thread --touch all --repeat 9 app.dat -a ./libmine.so\n"
		"  memoir replay --thread worker --json app.dat | jq '.allocators[].peak_rss'\n",
	.options = options,
	.takes_filters = true,
	.run = run_replay,
};
