/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/overview: the facts, the totals, and what is to be known first.  With filters, the
 * figures that memoir report has are of what matches, as there; the facts stay those of the whole.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/leaks.h"
#include "answer/words.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "server/request.h"

#define VERDICTS_SHOWN 5
#define TOP_SHOWN 5

static void write_info(struct json *j, const struct model *m, const char *key, const char *info)
{
	const char *text = model_info(m, info);

	if (text)
		json_text(j, key, text);
}

static void write_number(struct json *j, const struct model *m, const char *key)
{
	if (model_info(m, key))
		json_number(j, key, model_info_number(m, key, 0));
}

static void write_program(struct json *j, const struct snapshot *s)
{
	const struct model *m = s->model;
	const char *words = model_info(m, "cmdline");
	size_t size = model_info_size(m, "cmdline");

	json_text(j, "id", s->id);
	json_text(j, "name", s->name);
	json_text(j, "state", s->live ? "live" : "ready");
	json_number(j, "version", s->version);
	write_info(j, m, "executable", "executable");
	json_array(j, "cmdline");
	for (const char *p = words; p && p < words + size; p += strlen(p) + 1)
		json_text(j, NULL, p);
	json_end_array(j);
	write_number(j, m, "pid");
	write_info(j, m, "architecture", "arch");
	write_info(j, m, "hostname", "hostname");
	write_info(j, m, "allocator", "allocator");
	write_info(j, m, "recorded_by", "version");
	write_info(j, m, "end_reason", "end_reason");
	write_number(j, m, "exit_status");
	write_number(j, m, "exit_signal");
	json_real(j, "start_ms", (double)model_start_ns(m) / 1e6, 3);
	json_number(j, "runtime_ns", model_runtime_ns(m));
	json_number(j, "threads", m->tables.threads.count);
	json_number(j, "file_size", s->file_size);
}

/* What is said of a whole recording or of a part. */
struct figures {
	struct weight allocated, peak, leaked;
	uint64_t temporary_count;
	uint32_t stacks;
};

static struct figures figures_of_part(const struct stack_sums *sums)
{
	struct figures f = { 0 };

	for (uint32_t i = 0; i < sums->count; i++) {
		const struct stack_sum *s = &sums->rows[i];

		f.allocated.bytes += s->bytes;
		f.allocated.count += s->count;
		f.peak.bytes += s->peak_bytes;
		f.peak.count += s->peak_count;
		f.leaked.bytes += s->leaked_bytes;
		f.leaked.count += s->leaked_count;
		f.temporary_count += s->temporary;
		f.stacks += s->count && s->stack != STACK_NONE;
	}
	return f;
}

static struct figures figures_of_all(const struct totals *t, const struct stack_counts *stacks)
{
	return (struct figures){ .allocated = { t->allocated_bytes, t->allocations },
				 .peak = { t->peak_bytes, t->peak_count },
				 .leaked = { t->live_bytes, t->live_count },
				 .temporary_count = t->temporary,
				 .stacks = stacks->stacks };
}

static void write_totals(struct json *j, const struct view *v, const struct stack_sums *sums)
{
	const struct model *m = v->model;
	const struct totals *t = &m->totals;
	struct stack_counts stacks;
	struct figures f;

	stats_count_stacks(m, &stacks);
	f = v->bits ? figures_of_part(sums) : figures_of_all(t, &stacks);
	json_number(j, "events", t->events);
	json_number(j, "allocations", f.allocated.count);
	json_number(j, "deallocations", t->deallocations);
	json_number(j, "reallocations", t->reallocations);
	json_number(j, "allocated_bytes", f.allocated.bytes);
	json_number(j, "temporary", f.temporary_count);
	/* Of the events of a whole process, in order: there is none of a part. */
	if (!v->bits)
		json_number(j, "heaptrack_temporary", t->heaptrack_temporary);
	json_object(j, "peak");
	json_number(j, "bytes", f.peak.bytes);
	json_number(j, "count", f.peak.count);
	json_number(j, "at_ns", t->peak_bytes ? model_ns(m, t->peak_at) : 0);
	json_end_object(j);
	json_object(j, "leaked");
	json_number(j, "bytes", f.leaked.bytes);
	json_number(j, "count", f.leaked.count);
	json_end_object(j);
	json_number(j, "stacks", f.stacks);
	json_number(j, "free_stacks", stacks.free_stacks);
	json_number(j, "deepest_stack", stacks.deepest);
	json_number(j, "without_stack", stacks.without_stack);
	json_number(j, "removed_allocations", t->allocations - m->recorded.allocations);
}

static void write_verdicts(struct json *j, const struct view *v, const struct verdicts *all)
{
	uint64_t bytes[VERDICTS] = { 0 }, count[VERDICTS] = { 0 };

	json_array(j, "verdicts");
	for (uint32_t i = 0; i < all->count; i++) {
		const struct verdict *row = &all->rows[i];

		bytes[row->class] += row->leaked_bytes;
		count[row->class]++;
		if (i >= VERDICTS_SHOWN)
			continue;
		json_object(j, NULL);
		leaks_verdict(j, v->model, row);
		words_where(j, v->model, v->locations, row->stack);
		json_end_object(j);
	}
	json_end_array(j);
	json_object(j, "verdict_counts");
	for (unsigned i = 0; i < VERDICTS; i++)
		json_number(j, verdict_rows[i].name, count[i]);
	json_end_object(j);
	json_object(j, "verdict_bytes");
	for (unsigned i = 0; i < VERDICTS; i++)
		json_number(j, verdict_rows[i].name, bytes[i]);
	json_end_object(j);
}

static void write_top(struct json *j, const struct view *v, struct stack_sums *sums)
{
	static const struct {
		const char *name;
		enum stack_order order;
	} parts[] = { { "leaked", BY_LEAKED_BYTES },
		      { "peak", BY_PEAK_BYTES },
		      { "allocated", BY_COUNT },
		      { "temporary", BY_TEMPORARY } };
	uint32_t n;

	json_object(j, "top");
	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
		n = stack_sums_top(sums, parts[p].order, TOP_SHOWN);
		json_array(j, parts[p].name);
		for (uint32_t i = 0; i < n; i++) {
			const struct stack_sum *s = &sums->rows[i];
			bool leaked = parts[p].order == BY_LEAKED_BYTES;
			bool peak = parts[p].order == BY_PEAK_BYTES;
			bool temporary = parts[p].order == BY_TEMPORARY;

			json_object(j, NULL);
			words_where(j, v->model, v->locations, s->stack);
			json_number(j, "backtrace_id", answer_stack(v->model, s->stack));
			json_number(j, "bytes",
				    leaked	? s->leaked_bytes
				    : peak	? s->peak_bytes
				    : temporary ? s->temporary_bytes
						: s->bytes);
			json_number(j, "count",
				    leaked	? s->leaked_count
				    : peak	? s->peak_count
				    : temporary ? s->temporary
						: s->count);
			json_end_object(j);
		}
		json_end_array(j);
	}
	json_end_object(j);
}

static void write_modules(struct json *j, const struct snapshot *s)
{
	static const char *const levels[] = {
		[SYMBOLS_NONE] = "none",
		[SYMBOLS_EXPORTED] = "exported",
		[SYMBOLS_NAMES] = "functions",
		[SYMBOLS_LINES] = "lines",
	};
	const struct tables *t = &s->model->tables;
	uint64_t *used = xcalloc(t->module_count + 1, sizeof(*used));

	for (uint32_t i = 1; i < locations_count(s->locations); i++) {
		const struct location *p = locations_at(s->locations, i);

		if (p->module < t->module_count)
			used[p->module]++;
	}
	json_array(j, "modules");
	for (size_t i = 1; i < t->module_count; i++) {
		const char *path = locations_module_path(s->locations, (uint32_t)i);

		if (!t->modules[i].known)
			continue;
		json_object(j, NULL);
		json_text(j, "name", path_base(path));
		json_text(j, "path", path);
		json_text(j, "symbols", levels[locations_level(s->locations, (uint32_t)i)]);
		json_number(j, "places", used[i]);
		json_end_object(j);
	}
	json_end_array(j);
	free(used);
}

static void write_markers(struct json *j, const struct model *m)
{
	const struct markers *t = &m->tables.markers;

	json_array(j, "markers");
	for (size_t i = 0; i < t->count; i++) {
		json_object(j, NULL);
		json_number(j, "at_ns", model_ns(m, t->rows[i].stamp));
		json_number(j, "value", t->rows[i].value);
		json_text(j, "name", t->rows[i].name);
		json_end_object(j);
	}
	json_end_array(j);
}

static int answer(struct request *r, struct sink *out)
{
	const struct view *v = ask_view(&r->ask);
	struct verdicts own = { 0 };
	struct stack_sums sums;
	struct json j;

	if (!v)
		return -1;
	if (v->bits)
		stats_sum_selected(v->model, v->bits, &sums);
	else
		stats_sum_stacks(v->model, &sums);
	request_json(&j, out);
	json_object(&j, NULL);
	write_program(&j, r->ask.snapshot);
	write_totals(&j, v, &sums);
	if (ask_bool(&r->ask, "verdicts")) {
		if (v->bits)
			verdicts_init(&own, v, false);
		write_verdicts(&j, v, v->bits ? &own : snapshot_verdicts(r->ask.snapshot));
	}
	verdicts_release(&own);
	write_top(&j, v, &sums);
	stack_sums_release(&sums);
	write_modules(&j, r->ask.snapshot);
	write_markers(&j, v->model);
	snapshot_warnings(r->ask.snapshot, &j);
	json_end_object(&j);
	return 0;
}

/* Verdicts look at every curve of what was kept: seconds where all else takes none. */
static const struct param_row params[] = {
	{ "verdicts", PARAM_BOOL, "true", "with verdicts on what was not freed" },
	{ 0 },
};

const struct route routes_overview[] = {
	{ "/data/{id}/overview", METHOD_GET, "the facts, the totals, and what is to be known first",
	  .params = params, .filters = true, .answer = answer },
	{ 0 },
};
