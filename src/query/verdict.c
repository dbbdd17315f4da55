/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which stacks are judged, and their events in time.  See verdict.h. */
#include "query/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/event_iterator.h"
#include "query/series.h"
#include "query/verdict_curve.h"

#define EXIT_LOOK 4096u /* allocations that may belong to the exit */
#define EXIT_SHARE 0.1	/* of the run, at most */
#define END_BIT 0x80000000u

const struct verdict_row verdict_rows[VERDICTS] = {
	[VERDICT_GROWING] = { "growing", "GROWING", "grows to the end of the run: a leak" },
	[VERDICT_UNCLEAR] = { "unclear", "UNCLEAR",
			      "grew until late: record more of the same work" },
	[VERDICT_BOUNDED] = { "bounded", "BOUNDED", "grew and stopped: a cache, a pool, a table" },
	[VERDICT_SAWTOOTH] = { "sawtooth", "SAWTOOTH", "filled and emptied again and again" },
	[VERDICT_START_UP] = { "start-up", "START-UP", "allocated at the start, and kept" },
};

struct judging {
	const struct view *view;
	struct work work;
	uint32_t work_rows; /* allocations before its end */
	struct verdict *rows;
	uint32_t count;
	uint32_t *place;  /* by stack: plus one */
	uint32_t *events; /* rows with END_BIT, stack after stack; as many as the recording has */
	struct scratch events_memory;
	uint64_t *start; /* by verdict: its first event; one more */
};

static uint32_t stack_of(const struct judging *j, uint32_t row)
{
	uint32_t stack = j->view->model->allocations.stack[row];

	return node_is_known(&j->view->model->tables.nodes, stack) ? stack : 0;
}

/* A program that ends frees what it has, and allocates next to nothing: that is not its work. */
static uint64_t end_of_work(const struct model *m, uint64_t from, uint64_t to)
{
	const struct columns *c = &m->allocations;
	const struct free_order *frees = model_free_order(m);
	uint64_t work = to, earliest = to - (uint64_t)((double)(to - from) * EXIT_SHARE);

	for (uint32_t k = 0; k <= c->count && k < EXIT_LOOK; k++) {
		uint64_t at = k < c->count ? c->allocated_at[c->count - 1 - k] + 1 : 0;
		uint32_t first = free_order_from(frees, c, at < earliest ? earliest : at);
		uint32_t freed = frees->count - first;

		/* With no allocation that late, it begins with what is freed first. */
		if (k <= 4 + freed / 50 && freed)
			work = at < earliest ? c->freed_at[frees->rows[first]] : at;
		if (at < earliest)
			break;
	}
	return work;
}

/* Parts of the time in which nothing was allocated do not count as work. */
static void find_work(struct judging *j)
{
	const struct model *m = j->view->model;
	const struct columns *c = &m->allocations;
	struct work *w = &j->work;
	uint64_t from, to;
	unsigned total = 0;

	series_whole(m, &from, &to);
	w->from = from;
	w->to = end_of_work(m, from, to);
	if (w->to <= w->from)
		w->to = w->from + 1;
	w->ns_per_tick = (double)(model_ns(m, to) - model_ns(m, from)) / (double)(to - from);
	j->work_rows = columns_from(c, w->to);
	for (unsigned i = 0; i < CURVE_SLOTS; i++) {
		uint64_t a = from + (uint64_t)((double)(w->to - from) * i / CURVE_SLOTS);
		uint64_t b = from + (uint64_t)((double)(w->to - from) * (i + 1) / CURVE_SLOTS);

		total += columns_from(c, a) != columns_from(c, b);
		w->active[i + 1] = total;
	}
	for (unsigned i = 1; i <= CURVE_SLOTS; i++)
		w->active[i] = total ? w->active[i] / total : (double)i / CURVE_SLOTS;
}

static struct verdict *candidate(struct judging *j, uint32_t stack, size_t *room)
{
	if (!j->place[stack]) {
		j->rows = xgrow(j->rows, j->count, room, sizeof(*j->rows));
		j->rows[j->count] = (struct verdict){ .stack = stack, .freed_at_exit = true };
		j->place[stack] = ++j->count;
	}
	return &j->rows[j->place[stack] - 1];
}

/* Stacks with blocks that outlive the work. */
static void find_candidates(struct judging *j, bool held)
{
	const struct columns *c = &j->view->model->allocations;
	size_t room = 0;

	for (uint32_t row = 0; row < c->count; row++) {
		bool leaked = c->freed_at[row] == NEVER;
		struct verdict *v;

		if (!view_has(j->view, row) ||
		    (!leaked && (!held || c->freed_at[row] < j->work.to || row >= j->work_rows)))
			continue;
		v = candidate(j, stack_of(j, row), &room);
		if (row < j->work_rows) {
			v->kept_bytes += columns_size(c, row);
			v->kept_count++;
		}
		if (!leaked)
			continue;
		v->freed_at_exit = false;
		v->leaked_bytes += columns_size(c, row);
		v->leaked_count++;
	}
}

static void collect_events(struct judging *j)
{
	const struct columns *c = &j->view->model->allocations;
	struct event_iterator t = event_iterator_between(j->view->model, 0, j->work.to);
	uint64_t *next, sum = 0;

	j->start = xcalloc(j->count + 1, sizeof(*j->start));
	next = xcalloc(j->count + 1, sizeof(*next));
	for (uint32_t row = 0; row < c->count; row++) {
		uint32_t place = j->place[stack_of(j, row)];

		if (!place || !view_has(j->view, row))
			continue;
		if (!j->rows[place - 1].allocated_count++)
			j->rows[place - 1].call = tags_call(c->tags[row]);
		if (row < j->work_rows)
			j->start[place - 1] += 1 + (c->freed_at[row] < j->work.to);
	}
	for (uint32_t i = 0; i <= j->count; i++) {
		uint64_t n = j->start[i];

		j->start[i] = next[i] = sum;
		sum += n;
	}
	j->events = scratch_resize(&j->events_memory, (sum + 1) * sizeof(*j->events));
	scratch_seal(&j->events_memory);
	while (event_iterator_next(&t)) {
		uint32_t place = j->place[stack_of(j, t.row)];

		if (place && view_has(j->view, t.row))
			j->events[next[place - 1]++] = t.row | (t.is_free ? END_BIT : 0);
	}
	free(next);
}

static void judge(struct judging *j, struct verdict *v, uint64_t first, uint64_t count)
{
	const struct columns *c = &j->view->model->allocations;
	struct scratch memory = { 0 };
	struct curve_event *events = scratch_resize(&memory, (count + 1) * sizeof(*events));
	uint32_t work_rows;
	size_t n = 0;
	struct curve curve;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t row = j->events[first + i] & ~END_BIT;
		bool is_free = j->events[first + i] & END_BIT;
		uint64_t at = is_free ? c->freed_at[row] : c->allocated_at[row];
		/* Blocks of no bytes are judged by their number. */
		double size = v->kept_bytes ? (double)columns_size(c, row) : 1;

		/* realloc ends one block and begins the next in the same instant. */
		if (!n || events[n - 1].at != at)
			events[n++] = (struct curve_event){ .at = at };
		events[n - 1].change += is_free ? -size : size;
		events[n - 1].allocated |= !is_free;
	}
	curve_draw(&curve, &j->work, events, n);
	v->most_bytes = v->kept_bytes ? (uint64_t)curve.most : 0;
	/* What came after the program's work was done is not in the curve. */
	if (v->most_bytes < v->leaked_bytes)
		v->most_bytes = v->leaked_bytes;
	curve_judge(v, &curve, &j->work, events, n);
	work_rows = j->work_rows - columns_from(c, j->work.from + (uint64_t)((double)v->first_ns /
									     j->work.ns_per_tick));
	v->bytes_per_allocation = work_rows ? (double)v->kept_bytes / work_rows : 0;
	if (v->kept_count)
		v->bytes_per_block = (double)v->kept_bytes / (double)v->kept_count;
	else if (v->leaked_count)
		v->bytes_per_block = (double)v->leaked_bytes / (double)v->leaked_count;
	if (!v->kept_bytes)
		v->bytes_per_second = 0;
	scratch_release(&memory);
}

static void judge_some(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct judging *j = context;

	for (uint64_t i = first; i < first + count; i++)
		judge(j, &j->rows[i], j->start[i], j->start[i + 1] - j->start[i]);
}

static int by_class(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;
	uint64_t kx = x->leaked_bytes > x->kept_bytes ? x->leaked_bytes : x->kept_bytes;
	uint64_t ky = y->leaked_bytes > y->kept_bytes ? y->leaked_bytes : y->kept_bytes;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (kx != ky)
		return kx < ky ? 1 : -1;
	if (x->leaked_count != y->leaked_count)
		return x->leaked_count < y->leaked_count ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

void verdicts_init(struct verdicts *v, const struct view *view, bool held)
{
	struct judging *j = xcalloc(1, sizeof(*j));

	memset(v, 0, sizeof(*v));
	j->view = view;
	j->place = xcalloc(view->model->tables.nodes.count + 1, sizeof(*j->place));
	find_work(j);
	find_candidates(j, held);
	collect_events(j);
	parallel_for(j->count, 4, judge_some, j);
	if (j->count)
		qsort(j->rows, j->count, sizeof(*j->rows), by_class);
	v->rows = j->rows;
	v->count = j->count;
	v->end_ns = model_ns(view->model, j->work.to);
	free(j->place);
	scratch_release(&j->events_memory);
	free(j->start);
	free(j);
}

void verdicts_release(struct verdicts *v)
{
	free(v->rows);
	memset(v, 0, sizeof(*v));
}
