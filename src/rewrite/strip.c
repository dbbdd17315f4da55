/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Taking over the events that are kept.  See strip.h.
 *
 * The loader tells of every event, in order of time, which row it belongs to.  Those of kept rows
 * are collected by ring and written as chunks that are complete up to their horizon.  Beside that a
 * second pairing counts what a loader will find in them: the difference to what was there goes into
 * the counters.
 *
 * An allocation is temporary when its ring's next event frees it.  Where that would come about only
 * because what was between the two is gone, a THREAD event is put there: the ring's owner says once
 * more who it is. */
#include "rewrite/strip.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "rewrite/removal.h"

#define NOTHING 0 /* no event is at this time: the first is later */

struct strip_ring {
	struct event *events; /* of the chunk that is being put together */
	uint32_t count;
	size_t room;
	struct event owner; /* its last THREAD event; word1 is 0 before the first */
	bool seen;
	uint32_t last; /* row that its last event began, or NO_ALLOCATION */
	uint64_t gone; /* when the first event was left out since then, or NOTHING */
	uint32_t open; /* reallocs that have not come to an end */
};

struct taking {
	const struct removal *plan;
	struct output *output;
	const struct columns *columns; /* of the recording that is read */
	struct strip_ring *rings;
	size_t ring_count;
	uint32_t waiting; /* events in all rings */
	uint64_t now;
	/* What a loader will see. */
	struct pair pair;
	struct columns written;
	struct threads threads;
	struct markers markers;
};

static struct strip_ring *ring_of(struct taking *t, uint32_t ring)
{
	if (ring >= t->ring_count) {
		size_t count = ring + 16;

		t->rings = xreallocarray(t->rings, count, sizeof(*t->rings));
		memset(t->rings + t->ring_count, 0, (count - t->ring_count) * sizeof(*t->rings));
		for (size_t i = t->ring_count; i < count; i++)
			t->rings[i].last = NO_ALLOCATION;
		t->ring_count = count;
	}
	return &t->rings[ring];
}

static void strip_add_event(struct taking *t, uint32_t ring, struct event e, uint64_t at)
{
	struct strip_ring *r = &t->rings[ring];

	if (event_op(&e) < OP_MAP) /* those are ordered by their own */
		e.stamp = at;
	*xpush(r->events, r->count, r->room) = e;
	/* What is freed behind a marker, or a memory map, may still be temporary. */
	if (!event_op_aside(event_op(&e))) {
		r->last = NO_ALLOCATION;
		r->gone = NOTHING;
	}
	t->waiting++;
	pair_events(&t->pair, &(struct pair_item){ &e, ring }, 1);
}

/* The ring's owner once more, at a time when something was left out. */
static void add_owner(struct taking *t, uint32_t ring, uint64_t at)
{
	struct event e = t->rings[ring].owner;

	if (!e.word1)
		e.word1 = (uint64_t)OP_THREAD << 56;
	strip_add_event(t, ring, e, at);
}

/* An allocation is the last of the ring, and more came after it: a free would make it temporary.
 * THREAD would end an open realloc, which is worse. */
static bool needs_owner(const struct strip_ring *r)
{
	return r->last != NO_ALLOCATION && r->gone != NOTHING && !r->open;
}

static void write_chunk(struct taking *t)
{
	/* Later ones would be before the horizon. */
	for (uint32_t i = 0; i < t->ring_count; i++)
		if (needs_owner(&t->rings[i]))
			add_owner(t, i, t->rings[i].gone);
	output_room(t->output, t->waiting);
	for (uint32_t i = 0; i < t->ring_count; i++) {
		output_run(t->output, i, t->rings[i].events, t->rings[i].count);
		t->rings[i].count = 0;
	}
	output_horizon(t->output, t->now < NEVER ? t->now + 1 : NEVER);
	output_flush(t->output);
	t->waiting = 0;
}

static bool is_kept(const struct taking *t, enum event_op op, uint32_t row)
{
	switch (op) {
	case OP_ALLOC:
	case OP_FREE:
	case OP_REALLOC_FROM:
	case OP_REALLOC_TO:
	case OP_REALLOC_FREED:
	case OP_REALLOC_FAILED:
		return row != NO_ALLOCATION && removal_keeps(t->plan, row);
	default: /* of no block */
		return true;
	}
}

static void leave_out(struct taking *t, uint32_t ring, uint64_t at)
{
	struct strip_ring *r = &t->rings[ring];

	/* What has no owner is thread 0's, and that is counted too. */
	if (!r->seen)
		add_owner(t, ring, at);
	else if (r->gone == NOTHING)
		r->gone = at;
	r->seen = true;
}

static void observe(void *context, const struct event *e, uint32_t ring, uint64_t at, uint32_t row)
{
	struct taking *t = context;
	struct strip_ring *r = ring_of(t, ring);
	enum event_op op = event_op(e);
	struct event copy = *e;

	t->now = at;
	if (t->waiting + t->ring_count + 2 >= CODEC_CHUNK_EVENTS)
		write_chunk(t);
	if (!is_kept(t, op, row)) {
		leave_out(t, ring, at);
		return;
	}
	r->seen = true;
	if (op == OP_THREAD) {
		r->owner = *e;
		r->open = 0;
	}
	/* In front of a marker, since it is of a time before that. */
	if ((event_op_aside(op) || (op == OP_FREE && r->last == row)) && needs_owner(r))
		add_owner(t, ring, r->gone);
	/* What it was before is not known, and its FROM was left out. */
	if (op == OP_REALLOC_TO && columns_previous(t->columns, row) == NO_ALLOCATION) {
		op = OP_ALLOC;
		copy.word1 = event_address(e) | (uint64_t)op << 56;
	}
	if (op == OP_REALLOC_FROM)
		r->open++;
	else if (op > OP_REALLOC_FROM && op <= OP_REALLOC_FAILED && r->open)
		r->open--;
	strip_add_event(t, ring, copy, at);
	if (op == OP_ALLOC || op == OP_REALLOC_TO)
		r->last = row;
}

static void release(struct taking *t)
{
	for (size_t i = 0; i < t->ring_count; i++)
		free(t->rings[i].events);
	free(t->rings);
	pair_release(&t->pair);
	columns_release(&t->written);
	threads_release(&t->threads);
	markers_release(&t->markers);
}

static int take_events(const char *path, const struct removal *plan, struct output *o,
		       const struct strip_options *options, struct totals *ret_left,
		       struct err *err)
{
	struct taking t = { .plan = plan, .output = o };
	struct model_options how = { .workers = MODEL_WORKERS_AUTO,
				     .progress = options->progress,
				     .context = options->context,
				     .observe = observe,
				     .observer = &t };
	struct model *m;
	int error = model_open(&m, path, err);

	if (error)
		return error;
	t.columns = &m->allocations;
	pair_init(&t.pair, &t.written, &t.threads, &t.markers);
	model_load(m, &how);
	model_finish(m);
	write_chunk(&t);
	*ret_left = t.pair.totals;
	release(&t);
	model_free(m);
	return 0;
}

static void write_statistics(struct output *o, const struct removal *plan,
			     const struct removed *earlier)
{
	uint8_t row[STATISTICS_ROW_MAX];
	auto_buf struct buf b = { 0 };

	for (size_t i = 0; i < plan->sums.count; i++) {
		const struct statistics *s = &plan->sums.rows[i];

		if (!s->count && !removed_find(earlier, s->stack))
			continue;
		if (b.size + sizeof(row) > FORMAT_CHUNK_RAW_MAX) {
			output_chunk(o, CHUNK_STATISTICS, b.data, b.size);
			buf_clear(&b);
		}
		buf_add(&b, row, (size_t)(statistics_put(row, s) - row));
	}
	if (b.size)
		output_chunk(o, CHUNK_STATISTICS, b.data, b.size);
}

/* `all` is what the recording adds up to, `left` what the events that were taken over do. */
static void write_counters(struct output *o, const struct totals *all, const struct totals *left,
			   const struct stack_counts *stacks)
{
	const struct {
		const char *name;
		uint64_t all, left;
	} rows[] = {
		{ COUNTER_REMOVED_EVENTS, all->events, left->events },
		{ COUNTER_REMOVED_ALLOCATIONS, all->allocations, left->allocations },
		{ COUNTER_REMOVED_FREES, all->deallocations, left->deallocations },
		{ COUNTER_REMOVED_REALLOCS, all->reallocations, left->reallocations },
		{ COUNTER_REMOVED_BYTES, all->allocated_bytes, left->allocated_bytes },
		{ COUNTER_REMOVED_TEMPORARY, all->temporary, left->temporary },
		{ COUNTER_REMOVED_REALLOC_FAILURES, all->realloc_failures, left->realloc_failures },
		{ COUNTER_REMOVED_UNKNOWN_FREES, all->unknown_frees, left->unknown_frees },
		{ COUNTER_REMOVED_IMPLICIT_FREES, all->implicit_frees, left->implicit_frees },
		{ COUNTER_WHOLE_PEAK_BYTES, all->peak_bytes, 0 },
		{ COUNTER_WHOLE_PEAK_COUNT, all->peak_count, 0 },
		{ COUNTER_WHOLE_PEAK_STAMP, all->peak_at, 0 },
		{ COUNTER_WHOLE_FIRST_STAMP, all->first_at, 0 },
		{ COUNTER_WHOLE_LAST_STAMP, all->last_at, 0 },
		{ COUNTER_WHOLE_HEAPTRACK_TEMPORARY, all->heaptrack_temporary, 0 },
		{ COUNTER_WHOLE_FREE_STACKS, stacks->free_stacks, 0 },
		{ COUNTER_WHOLE_DEEPEST, stacks->deepest, 0 },
	};
	auto_buf struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_counted(&b, rows[i].name, strlen(rows[i].name));
		put_number(&b, rows[i].all > rows[i].left ? rows[i].all - rows[i].left : 0);
	}
	output_chunk(o, CHUNK_COUNTERS, b.data, b.size);
}

static bool copy_chunk(void *visitor, const struct chunk *c, struct source_events *events)
{
	struct output *o = visitor;

	if (c->head.type != CHUNK_STATISTICS)
		output_chunk(o, c->head.type, c->payload, c->payload_size);
	return !output_failed(o);
}

static void write_head(struct source *s, struct output *o, const struct model *m,
		       uint64_t threshold)
{
	const char *before = model_info(m, INFO_REMOVED_BELOW);

	s->skip_events = true;
	s->embed = true;
	s->until = m->loss.kind == LOSS_NONE ? 0 : m->loss.err.offset;
	s->visit = copy_chunk;
	s->visitor = o;
	s->progress = NULL;
	source_each(s);
	output_loss(o, &m->loss);
	if (threshold == STRIP_ALL || (before && !strcmp(before, REMOVED_BELOW_ALL)))
		output_info(o, INFO_REMOVED_BELOW, REMOVED_BELOW_ALL, strlen(REMOVED_BELOW_ALL));
	else if (threshold > model_info_number(m, INFO_REMOVED_BELOW, 0))
		output_info_number(o, INFO_REMOVED_BELOW, threshold);
}

int strip(struct source *s, const char *path, struct output *o, const struct strip_options *options,
	  struct strip_result *ret_result, struct err *err)
{
	struct model_options how = { .workers = MODEL_WORKERS_AUTO,
				     .progress = options->progress,
				     .context = options->context };
	struct stack_counts stacks;
	struct totals all, left;
	struct removal plan;
	struct model *m;
	int error = model_read(&m, path, &how, err);

	if (error)
		return error;
	removal_plan(&plan, m, options->threshold_ns);
	stats_count_stacks(m, &stacks);
	all = m->totals;
	*ret_result = (struct strip_result){ .allocations = m->recorded.allocations,
					     .removed = plan.removed,
					     .removed_bytes = plan.removed_bytes,
					     .loss = m->loss };
	write_head(s, o, m, options->threshold_ns);
	write_statistics(o, &plan, &m->tables.removed);
	model_free(m);
	error = take_events(path, &plan, o, options, &left, err);
	if (!error)
		write_counters(o, &all, &left, &stacks);
	removal_release(&plan);
	return error;
}
