/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/fragmentation, /holders: memory that is not in use and cannot be given back, and
 * who holds a stretch of addresses. */
#include "query/fragmentation.h"

#include <stdlib.h>
#include <string.h>

#include "answer/words.h"
#include "base/xalloc.h"
#include "query/series.h"
#include "server/request.h"

#define POINTS_MAX 2000

/* The moment that is asked about; the peak if none is. */
static uint64_t moment_of(const struct request *r, const struct model *m)
{
	uint64_t ns;

	return ask_time(&r->ask, "at", m, &ns) ? measure_stamp(m, ns) : m->totals.peak_at;
}

static uint64_t moment_ns(const struct model *m, uint64_t at)
{
	return m->totals.peak_bytes || at ? model_ns(m, at) : 0;
}

static void write_levels(struct json *j, const struct fragmentation *f)
{
	json_array(j, "regions");
	for (unsigned i = 0; i < LEVELS; i++) {
		const struct occupancy *o = &f->levels[i];

		json_object(j, NULL);
		json_number(j, "size", 1ull << level_rows[i].shift);
		json_number(j, "regions", o->regions);
		json_number(j, "live_bytes", o->live_bytes);
		json_number(j, "empty_bytes", o->empty_bytes);
		json_number(j, "nearly_empty", o->nearly_empty);
		json_array(j, "occupancy");
		for (unsigned k = 0; k < OCCUPANCY_BINS; k++) {
			json_object(j, NULL);
			json_number(j, "from_percent", k * 10);
			json_number(j, "regions", o->bins[k].regions);
			json_number(j, "live_bytes", o->bins[k].live_bytes);
			json_number(j, "empty_bytes", o->bins[k].empty_bytes);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void write_slack(struct json *j, const struct fragmentation *f)
{
	json_array(j, "slack");
	for (unsigned i = 0; i < SLACK_CLASSES; i++) {
		const struct slack_class *c = &f->classes[i];

		if (!c->weight.count)
			continue;
		json_object(j, NULL);
		json_number(j, "from", c->from);
		json_number(j, "to", c->to);
		json_number(j, "count", c->weight.count);
		json_number(j, "bytes", c->weight.bytes);
		json_number(j, "slack_bytes", c->slack);
		json_end_object(j);
	}
	json_end_array(j);
}

static void write_holders(struct request *r, struct json *j, const struct fragmentation *f,
			  const struct view *v, struct sink *out)
{
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count");
	struct answer a;

	snapshot_answer(r->ask.snapshot, &a, v);
	json_number(j, "holder_total", f->holder_count);
	json_array(j, "holders");
	for (uint32_t i = skip; i < f->holder_count && i - skip < most; i++) {
		const struct holder *h = &f->holders[i];

		json_object(j, NULL);
		json_number(j, "backtrace_id", h->stack);
		json_number(j, "bytes", h->weight.bytes);
		json_number(j, "count", h->weight.count);
		json_number(j, "slack_bytes", h->slack);
		json_array(j, "held");
		for (unsigned k = 0; k < LEVELS; k++) {
			json_object(j, NULL);
			json_number(j, "size", 1ull << level_rows[k].shift);
			json_number(j, "regions", h->held[k].regions);
			json_number(j, "pinned_bytes", h->held[k].pinned_bytes);
			json_number(j, "shared_bytes", h->held[k].shared_bytes);
			json_end_object(j);
		}
		json_end_array(j);
		answer_backtrace(&a, j, "backtrace", h->stack, words_call(v->model, h->stack));
		json_end_object(j);
		sink_turn(out);
	}
	json_end_array(j);
	snapshot_answer_release(&a);
}

static void write_over_time(struct json *j, const struct model *m, uint32_t count)
{
	struct fragmentation_point *points = xcalloc(count, sizeof(*points));
	uint64_t from, to;

	series_whole(m, &from, &to);
	fragmentation_series(m, from, to, count, points);
	json_array(j, "over_time");
	for (uint32_t i = 0; i < count; i++) {
		json_object(j, NULL);
		json_number(j, "at_ns", model_ns(m, points[i].at));
		json_number(j, "bytes", points[i].requested);
		json_number(j, "usable_bytes", points[i].usable);
		json_array(j, "regions");
		for (unsigned k = 0; k < LEVELS; k++)
			json_number(j, NULL, points[i].regions[k]);
		json_end_array(j);
		json_array(j, "most_regions");
		for (unsigned k = 0; k < LEVELS; k++)
			json_number(j, NULL, points[i].most_regions[k]);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	free(points);
}

static enum fragmentation_level level_of(const char *word)
{
	return !strcmp(word, "page") ? LEVEL_PAGE : !strcmp(word, "64K") ? LEVEL_64K : LEVEL_2M;
}

static int answer(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	const struct view *v = ask_view(&r->ask);
	struct fragmentation f;
	struct json j;

	if (!v)
		return -1;
	fragmentation_init(&f, v, moment_of(r, m));
	fragmentation_sort(&f, level_of(ask_text(&r->ask, "level")));
	request_json(&j, out);
	json_object(&j, NULL);
	json_number(&j, "at_ns", moment_ns(m, f.at));
	json_number(&j, "bytes", f.live.bytes);
	json_number(&j, "count", f.live.count);
	json_number(&j, "slack_bytes", f.slack);
	write_levels(&j, &f);
	write_slack(&j, &f);
	write_holders(r, &j, &f, v, out);
	if (ask_count(&r->ask, "points"))
		write_over_time(&j, m, ask_count(&r->ask, "points"));
	json_end_object(&j);
	fragmentation_release(&f);
	return 0;
}

/* What one stack holds in a range of addresses. */
struct range_holder {
	uint32_t stack;
	struct weight weight;
	uint64_t slack, low, high; /* addresses: of the first byte, behind the last */
	uint64_t oldest, newest;   /* stamps */
};

struct range_holders {
	struct range_holder *rows;
	size_t count, room;
	uint32_t *row_of; /* by stack: plus one */
	struct weight total;
};

static void add_holder_row(struct range_holders *all, const struct model *m, uint32_t row)
{
	const struct columns *c = &m->allocations;
	uint32_t stack = answer_stack(m, c->stack[row]);
	uint64_t size = columns_size(c, row), slack = columns_slack_of(c, row);
	uint64_t low = c->address[row], high = low + size + slack;
	struct range_holder *h;

	if (!all->row_of[stack]) {
		all->rows = xgrow(all->rows, all->count, &all->room, sizeof(*all->rows));
		all->rows[all->count] = (struct range_holder){ .stack = stack,
							       .low = low,
							       .oldest = c->allocated_at[row] };
		all->row_of[stack] = (uint32_t)++all->count;
	}
	h = &all->rows[all->row_of[stack] - 1];
	h->weight.bytes += size;
	h->weight.count++;
	h->slack += slack;
	h->low = low < h->low ? low : h->low;
	h->high = high > h->high ? high : h->high;
	h->newest = c->allocated_at[row];
	all->total.bytes += size;
	all->total.count++;
}

static int by_bytes(const void *a, const void *b)
{
	const struct range_holder *x = a, *y = b;

	if (x->weight.bytes != y->weight.bytes)
		return x->weight.bytes > y->weight.bytes ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void write_range_holder(struct json *j, struct answer *a, const struct range_holder *h)
{
	const struct model *m = a->view->model;

	json_object(j, NULL);
	json_number(j, "backtrace_id", h->stack);
	json_number(j, "bytes", h->weight.bytes);
	json_number(j, "count", h->weight.count);
	json_number(j, "slack_bytes", h->slack);
	json_number(j, "address_min", h->low);
	json_number(j, "address_max", h->high);
	words_address(j, "address_min_s", h->low);
	words_address(j, "address_max_s", h->high);
	json_number(j, "oldest_ns", model_ns(m, h->oldest));
	json_number(j, "newest_ns", model_ns(m, h->newest));
	answer_backtrace(a, j, "backtrace", h->stack, words_call(m, h->stack));
	json_end_object(j);
}

static int answer_holders(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count");
	const struct view *v = ask_view(&r->ask);
	uint64_t at = moment_of(r, m);
	struct measuring how = { .measure = MEASURE_ALIVE_AT, .at = at };
	struct range_holders all = { 0 };
	struct answer a;
	struct json j;

	if (!v)
		return -1;
	all.row_of = xcalloc((size_t)m->tables.nodes.count + 1, sizeof(*all.row_of));
	VIEW_EACH(v, 0, m->allocations.count, row)
	if (measuring_takes(&how, &m->allocations, row))
		add_holder_row(&all, m, row);
	if (all.count > 1)
		qsort(all.rows, all.count, sizeof(*all.rows), by_bytes);
	snapshot_answer(r->ask.snapshot, &a, v);
	request_json(&j, out);
	json_object(&j, NULL);
	json_number(&j, "at_ns", moment_ns(m, at));
	json_number(&j, "bytes", all.total.bytes);
	json_number(&j, "count", all.total.count);
	json_number(&j, "total_count", all.count);
	json_array(&j, "stacks");
	for (size_t i = skip; i < all.count && i - skip < most; i++) {
		write_range_holder(&j, &a, &all.rows[i]);
		sink_turn(out);
	}
	json_end_array(&j);
	json_end_object(&j);
	snapshot_answer_release(&a);
	free(all.rows);
	free(all.row_of);
	return 0;
}

static const struct param_row params[] = {
	{ "at", PARAM_TIME, NULL, "the moment; the peak if it is not given" },
	{ "level", PARAM_CHOICE, "page", "what orders holders", .values = "page|64K|2M" },
	PARAMS_PAGE("20"),
	{ "points", PARAM_COUNT, "0", "steps of over_time", .max = POINTS_MAX },
	{ 0 },
};

static const struct param_row holders_params[] = {
	{ "at", PARAM_TIME, NULL, "the moment; the peak if it is not given" },
	PARAMS_PAGE("20"),
	{ 0 },
};

const struct route routes_fragmentation[] = {
	{ "/data/{id}/fragmentation", METHOD_GET,
	  "slack in blocks, and regions that a few blocks keep", .params = params, .filters = true,
	  .answer = answer },
	{ "/data/{id}/holders", METHOD_GET, "which stacks hold a region at a moment",
	  .params = holders_params, .filters = true, .answer = answer_holders },
	{ 0 },
};
