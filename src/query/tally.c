/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Figures of stacks, event by event.  See tally.h. */
#include "query/tally.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/event_iterator.h"
#include "query/responsible.h"
#include "query/series.h"

#define FIRST_STEP (1ull << 20) /* ticks */
#define LONGEST 1e18		/* ticks of a window: whatever a file says about its clock */

void tally_init(struct tally *t, const struct model *m, uint64_t window_ns)
{
	*t = (struct tally){ .model = m, .window_ns = window_ns };
}

void tally_release(struct tally *t)
{
	map_totals_release(&t->maps);
	free(t->rows);
	free(t->row_of);
	free(t->held);
	responsible_free(t->responsible);
	*t = (struct tally){ 0 };
}

void tally_forget_names(struct tally *t)
{
	t->responsible = responsible_free(t->responsible);
	for (size_t i = 0; i < t->count; i++)
		t->rows[i].location = 0;
}

static struct tally_row *row_of_stack(struct tally *t, uint32_t stack, unsigned call)
{
	if (!node_is_known(&t->model->tables.nodes, stack))
		stack = STACK_NONE;
	if (stack >= t->node_count) {
		uint32_t count = stack + stack / 2 + 1024;

		t->row_of = xreallocarray(t->row_of, count, sizeof(*t->row_of));
		memset(t->row_of + t->node_count, 0, (count - t->node_count) * sizeof(*t->row_of));
		t->node_count = count;
	}
	if (!t->row_of[stack]) {
		*xpush(t->rows, t->count, t->room) =
			(struct tally_row){ .stack = stack, .call = call };
		t->row_of[stack] = (uint32_t)t->count;
	}
	return &t->rows[t->row_of[stack] - 1];
}

/* How long a half is depends on readings of the clock, which come with the events. */
static uint64_t half_ticks(const struct tally *t)
{
	double ticks = (double)t->window_ns / 2 / model_clock(t->model).ns_per_tick;

	return ticks < 1 ? 1 : (uint64_t)(ticks < LONGEST ? ticks : LONGEST);
}

static __attribute__((noinline)) void begin_half(struct tally *t, uint64_t at)
{
	uint64_t ticks = half_ticks(t);

	if (t->half_end && at - t->half_end < ticks) {
		t->half++;
		t->half_before_from = t->half_from;
		t->half_from = t->half_end;
	} else { /* nothing happened in between, or ever */
		t->half += 2;
		t->half_before_from = t->half_end && at > ticks ? at - ticks : at;
		t->half_from = at;
	}
	t->half_end = t->half_from + ticks;
}

static __attribute__((noinline)) void begin_step(struct tally *t, uint64_t at)
{
	if (!t->curve_count) {
		t->curve_from = model_clock(t->model).start;
		t->curve_step = FIRST_STEP;
		t->curve_end = t->curve_from + FIRST_STEP;
		t->curve[t->curve_count++] = 0;
	}
	while (at >= t->curve_end) {
		if (t->curve_count == TALLY_POINTS) {
			for (unsigned i = 0; i < TALLY_POINTS / 2; i++) {
				uint64_t a = t->curve[2 * i], b = t->curve[2 * i + 1];

				t->curve[i] = a > b ? a : b;
			}
			t->curve_count = TALLY_POINTS / 2;
			t->curve_step *= 2;
		}
		t->curve[t->curve_count++] = t->all.held_bytes;
		if (__builtin_mul_overflow(t->curve_count, t->curve_step, &t->curve_end) ||
		    __builtin_add_overflow(t->curve_from, t->curve_end, &t->curve_end))
			t->curve_end = UINT64_MAX;
	}
}

static inline void pass_time(struct tally *t, uint64_t at)
{
	t->now = MAX(t->now, at);
	if (__builtin_expect(at >= t->half_end, 0))
		begin_half(t, at);
	if (__builtin_expect(at >= t->curve_end, 0))
		begin_step(t, at);
}

static inline struct tally_recent *recent_of(struct tally *t, struct tally_row *row)
{
	if (row->half != t->half) {
		row->recent[1] =
			row->half + 1 == t->half ? row->recent[0] : (struct tally_recent){ 0 };
		row->recent[0] = (struct tally_recent){ 0 };
		row->half = t->half;
	}
	return &row->recent[0];
}

static void count_held(struct tally *t, struct tally_row *row, uint64_t size, bool begins)
{
	recent_of(t, row)->change += begins ? (int64_t)size : -(int64_t)size;
	if (begins) {
		row->held_bytes += size;
		row->held_count++;
		return;
	}
	/* A file may name the nodes of a stack after its blocks: those began as another's. */
	row->held_bytes -= size < row->held_bytes ? size : row->held_bytes;
	row->held_count -= row->held_count != 0;
}

static void count_allocation(struct tally *t, struct tally_row *row, uint64_t size)
{
	struct tally_recent *recent = recent_of(t, row);

	if (!row->allocations || size < row->min_size)
		row->min_size = size;
	if (size > row->max_size)
		row->max_size = size;
	row->allocations++;
	row->allocated_bytes += size;
	recent->allocations++;
	recent->bytes += size;
}

static struct tally_row *row_of_block(struct tally *t, uint32_t row)
{
	const struct columns *c = &t->model->allocations;

	return row_of_stack(t, columns_stack(c, row), tags_call(columns_tags(c, row)));
}

static void block_begins(struct tally *t, uint32_t row)
{
	uint64_t size = columns_size(&t->model->allocations, row);

	count_allocation(t, row_of_block(t, row), size);
	count_allocation(t, &t->all, size);
}

/* Counts a block as held or not.  It may have been told of before: its address was handed out
 * again, so that it was taken for freed, and then its own free came, or a realloc that failed. */
static void settle_block(struct tally *t, uint32_t row, bool lives)
{
	uint64_t size = columns_size(&t->model->allocations, row), bit = 1ull << row % 64;

	if (row / 64 >= t->held_words) {
		size_t words = row / 64 + row / 128 + 1024;

		t->held = xreallocarray(t->held, words, sizeof(*t->held));
		memset(t->held + t->held_words, 0, (words - t->held_words) * sizeof(*t->held));
		t->held_words = words;
	}
	if (!!(t->held[row / 64] & bit) == lives)
		return;
	t->held[row / 64] ^= bit;
	count_held(t, row_of_block(t, row), size, lives);
	count_held(t, &t->all, size, lives);
	t->curve[t->curve_count - 1] = MAX(t->curve[t->curve_count - 1], t->all.held_bytes);
}

void tally_observe(void *tally, const struct event *e, uint32_t ring, uint64_t at, uint32_t row)
{
	struct tally *t = tally;
	const struct columns *c = &t->model->allocations;
	enum event_op op = event_op(e);

	pass_time(t, at);
	if (row == NO_ALLOCATION)
		return;
	if (op == OP_REALLOC_TO && columns_previous(c, row) != NO_ALLOCATION)
		settle_block(t, columns_previous(c, row), false);
	if (op == OP_ALLOC || op == OP_REALLOC_TO)
		block_begins(t, row);
	settle_block(t, row, columns_freed_at(c, row) == NEVER);
	if (op == OP_FREE && tags_flags(columns_tags(c, row)) & TAG_TEMPORARY) {
		row_of_block(t, row)->temporary++;
		t->all.temporary++;
	}
}

void tally_observe_displaced(void *tally, uint32_t row, uint32_t by)
{
	settle_block(tally, row, false);
}

/* Sums so far, of which there are new ones now and then. */
static void take_removed(struct tally *t, const struct removed *r)
{
	for (size_t i = 0; r->count && i < t->count; i++)
		t->rows[i].removed_allocations = t->rows[i].removed_bytes =
			t->rows[i].removed_temporary = 0;
	for (size_t i = 0; i < r->count; i++) {
		struct tally_row *row = row_of_stack(t, r->rows[i].stack, r->rows[i].call);

		row->removed_allocations += r->rows[i].count;
		row->removed_bytes += r->rows[i].bytes;
		row->removed_temporary += r->rows[i].temporary;
	}
}

void tally_advance(struct tally *t, uint64_t stamp)
{
	map_totals_read_on(&t->maps, &t->model->tables.regions);
	take_removed(t, &t->model->tables.removed);
	if (stamp > t->now)
		pass_time(t, stamp);
}

struct tally_recent tally_recent(const struct tally *t, const struct tally_row *row)
{
	struct tally_recent sum = { 0 };

	if (row->half != t->half && row->half + 1 != t->half)
		return sum;
	sum = row->recent[0];
	if (row->half == t->half) {
		sum.allocations += row->recent[1].allocations;
		sum.bytes += row->recent[1].bytes;
		sum.change += row->recent[1].change;
	}
	return sum;
}

uint64_t tally_window_ns(const struct tally *t)
{
	return model_ns(t->model, t->now) - model_ns(t->model, t->half_before_from);
}

/* Within the window alone; the sums are there already. */
static void take_window(struct tally *t, const struct model *m)
{
	struct event_iterator events = event_iterator_between(m, t->half_before_from, NEVER);
	const struct columns *c = &m->allocations;

	while (event_iterator_next(&events)) {
		struct tally_row *row = row_of_stack(t, columns_stack(c, events.row),
						     tags_call(columns_tags(c, events.row)));
		int64_t size = (int64_t)columns_size(c, events.row);
		struct tally_recent *recents[] = { recent_of(t, row), recent_of(t, &t->all) };

		for (unsigned i = 0; i < 2; i++) {
			recents[i]->change += events.is_free ? -size : size;
			recents[i]->allocations += !events.is_free;
			recents[i]->bytes += events.is_free ? 0 : (uint64_t)size;
		}
	}
}

static void take_curve(struct tally *t, const struct view *v)
{
	auto_release(series_release) struct series s = { 0 };
	uint64_t from, to;

	series_whole(v->model, &from, &to);
	series_init(&s, v, from, to, TALLY_POINTS);
	t->curve_from = from;
	t->curve_step = (to - from) / TALLY_POINTS + ((to - from) % TALLY_POINTS != 0);
	t->curve_count = TALLY_POINTS;
	for (unsigned i = 0; i < TALLY_POINTS; i++)
		t->curve[i] = s.points[i].most_bytes;
}

void tally_whole(struct tally *t, const struct view *v, uint64_t window_ns)
{
	const struct model *m = v->model;
	struct model_clock clock = model_clock(m);
	double ticks = (double)window_ns / clock.ns_per_tick;
	struct stack_sums sums;

	tally_init(t, m, window_ns);
	t->now = clock.end;
	t->half = 1;
	t->half_before_from = ticks < (double)(clock.end - clock.start)
				      ? clock.end - (uint64_t)ticks
				      : clock.start;
	stats_sum_stacks(m, &sums);
	for (uint32_t i = 0; i < sums.count; i++) {
		const struct stack_sum *s = &sums.rows[i];
		struct tally_row *row = row_of_stack(t, s->stack, s->call);

		row->held_bytes += s->leaked_bytes;
		row->held_count += s->leaked_count;
		row->allocations += s->count;
		row->allocated_bytes += s->bytes;
		row->temporary += s->temporary;
	}
	stack_sums_release(&sums);
	take_window(t, m);
	take_curve(t, v);
	map_totals_read_on(&t->maps, &m->tables.regions);
}
