/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Culling.  See cull.h.
 *
 * Events that wait are items of one list in order of time.  An item of a block whose fate is open
 * belongs to a chain (the block and what realloc made of it); the oldest such item is the first of
 * its chain, and nothing behind it is written before it is decided.  So what is written is in order
 * of time too, and a reader needs to know nothing of this.  What looks odd (an address that is in
 * use twice, ends without a beginning) is kept: the reader has the rules for that. */
#include "collector/cull.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "collector/clock.h"
#include "pairing/merge.h"
#include "wire/statistics.h"

#define NONE UINT32_MAX
#define BLOCK_EVENTS 8192u /* as many as drain.c takes in one step */
#define RUN 512u
#define MS 1000000ull

struct item {
	struct event event;
	uint32_t ring;
	uint32_t before, after; /* in order of time; `after` also links free ones */
	uint32_t next;		/* of the same chain */
	uint32_t chain;		/* or NONE: it is to be written */
	bool temporary;		/* it frees what the same thread has just allocated */
};

struct cull_chain {
	uint32_t first, last; /* items */
	uint32_t row;	      /* of the block as it is now */
	uint32_t next_free;
	uint64_t began; /* stamp of its first allocation */
};

/* What is known of a row of the columns beyond them. */
struct extra {
	uint32_t chain; /* or NONE: it was decided to keep it */
	bool alive;
};

struct stack_sum {
	struct statistics statistics;
	uint64_t live_bytes, live_count;
	uint64_t epoch; /* of the program's peaks, when at_peak was the last one's */
	bool changed;
};

struct ring_state {
	struct event thread;	 /* whose it is, as it was last written */
	uint64_t last_allocated; /* address that the last event written allocated, or 0 */
	uint32_t open;		 /* reallocs that have begun */
};

struct cull {
	struct collector *collector;
	struct columns columns;
	struct threads threads;
	struct markers markers;
	struct pair pair;
	struct merge merge;

	struct event **blocks; /* copies of runs, until the pass has ended */
	size_t block_count, block_room, blocks_used;
	uint32_t block_fill; /* of the last one in use */

	struct item *items;
	size_t item_room;
	uint32_t item_free, oldest, newest;
	struct cull_chain *chains;
	size_t chain_room;
	uint32_t chain_free;
	uint64_t chains_waiting;
	struct extra *extras;
	size_t extra_room;

	struct stack_sum *stacks;
	size_t stack_count, stack_room;
	uint32_t *place; /* by stack: position plus one */
	size_t place_room;
	uint8_t *frees_seen; /* by stack: has it freed anything? */
	size_t frees_room;
	uint64_t free_stacks;
	uint64_t epoch;

	bool displaces; /* the event that is paired puts a block where another one was */

	struct ring_state *rings;
	size_t ring_room;
	struct event run[RUN];
	uint32_t run_ring, run_count;

	uint64_t threshold_ns, threshold, most_waiting;
	double ns_per_tick;

	/* Left out. */
	uint64_t events, allocations, frees, reallocs, bytes, temporary, failures;
};

static uint32_t new_item(struct cull *c)
{
	uint32_t i = c->item_free;

	if (i == NONE) {
		size_t room = c->item_room ? c->item_room * 2 : 4096;

		c->items = xreallocarray(c->items, room, sizeof(*c->items));
		for (size_t k = room; k-- > c->item_room;) {
			c->items[k].after = c->item_free;
			c->item_free = (uint32_t)k;
		}
		c->item_room = room;
		i = c->item_free;
	}
	c->item_free = c->items[i].after;
	return i;
}

static void drop_item(struct cull *c, uint32_t i)
{
	struct item *it = &c->items[i];

	if (it->before == NONE)
		c->oldest = it->after;
	else
		c->items[it->before].after = it->after;
	if (it->after == NONE)
		c->newest = it->before;
	else
		c->items[it->after].before = it->before;
	it->after = c->item_free;
	c->item_free = i;
}

/* The event goes to the end of the list, and of its chain's. */
static void add_item(struct cull *c, const struct event *e, uint32_t ring, uint32_t chain,
		     bool temporary)
{
	uint32_t i = new_item(c);

	c->items[i] = (struct item){ *e, ring, c->newest, NONE, NONE, chain, temporary };
	if (c->newest == NONE)
		c->oldest = i;
	else
		c->items[c->newest].after = i;
	c->newest = i;
	if (chain == NONE)
		return;
	if (c->chains[chain].first == NONE)
		c->chains[chain].first = i;
	else
		c->items[c->chains[chain].last].next = i;
	c->chains[chain].last = i;
}

static struct extra *extra_of(struct cull *c, uint32_t row)
{
	if (row >= c->extra_room) {
		size_t room = c->extra_room ? c->extra_room * 2 : 4096;

		while (room <= row)
			room *= 2;
		c->extras = xreallocarray(c->extras, room, sizeof(*c->extras));
		for (size_t i = c->extra_room; i < room; i++)
			c->extras[i] = (struct extra){ .chain = NONE };
		c->extra_room = room;
	}
	return &c->extras[row];
}

static uint32_t new_chain(struct cull *c, uint32_t row, uint64_t began)
{
	uint32_t i = c->chain_free;

	if (i == NONE) {
		size_t room = c->chain_room ? c->chain_room * 2 : 4096;

		c->chains = xreallocarray(c->chains, room, sizeof(*c->chains));
		for (size_t k = room; k-- > c->chain_room;) {
			c->chains[k].next_free = c->chain_free;
			c->chain_free = (uint32_t)k;
		}
		c->chain_room = room;
		i = c->chain_free;
	}
	c->chain_free = c->chains[i].next_free;
	c->chains[i] = (struct cull_chain){ NONE, NONE, row, NONE, began };
	c->chains_waiting++;
	return i;
}

static void free_chain(struct cull *c, uint32_t chain)
{
	c->chains[chain].next_free = c->chain_free;
	c->chain_free = chain;
	c->chains_waiting--;
}

/* All that it did is to be written, and what it will do. */
static void cull_keep_chain(struct cull *c, uint32_t chain)
{
	if (chain == NONE)
		return;
	for (uint32_t i = c->chains[chain].first; i != NONE; i = c->items[i].next)
		c->items[i].chain = NONE;
	extra_of(c, c->chains[chain].row)->chain = NONE;
	free_chain(c, chain);
}

static struct stack_sum *stack_of(struct cull *c, uint32_t stack)
{
	if (stack >= c->place_room) {
		size_t room = c->place_room ? c->place_room * 2 : 4096;

		while (room <= stack)
			room *= 2;
		c->place = xreallocarray(c->place, room, sizeof(*c->place));
		memset(c->place + c->place_room, 0, (room - c->place_room) * sizeof(*c->place));
		c->place_room = room;
	}
	if (!c->place[stack]) {
		*xpush(c->stacks, c->stack_count, c->stack_room) =
			(struct stack_sum){ .statistics.stack = stack, .epoch = c->epoch };
		c->place[stack] = (uint32_t)c->stack_count;
	}
	return &c->stacks[c->place[stack] - 1];
}

/* What was alive at the program's peak is known when something changes for the first time since. */
static void catch_up(const struct cull *c, struct stack_sum *s)
{
	if (s->epoch == c->epoch)
		return;
	s->statistics.peak_bytes = s->live_bytes;
	s->statistics.peak_count = s->live_count;
	s->epoch = c->epoch;
}

static void begins(struct cull *c, uint32_t row, uint64_t at)
{
	struct stack_sum *s = stack_of(c, columns_stack(&c->columns, row));

	catch_up(c, s);
	s->live_bytes += columns_size(&c->columns, row);
	s->live_count++;
	if (s->live_bytes > s->statistics.own_peak_bytes) {
		s->statistics.own_peak_bytes = s->live_bytes;
		s->statistics.own_peak_count = s->live_count;
		s->statistics.own_peak_at = at;
	}
	extra_of(c, row)->alive = true;
}

static void row_ends(struct cull *c, uint32_t row)
{
	struct stack_sum *s;

	if (row == NO_ALLOCATION || !extra_of(c, row)->alive)
		return;
	s = stack_of(c, columns_stack(&c->columns, row));
	catch_up(c, s);
	s->live_bytes -= columns_size(&c->columns, row);
	s->live_count--;
	c->extras[row].alive = false;
}

static bool allocates(const struct event *e)
{
	return event_op(e) == OP_ALLOC || event_op(e) == OP_REALLOC_TO;
}

/* One allocation of a chain that is left out; it ended at `end`. */
static struct statistics *cull_count_allocation(struct cull *c, const struct event *e, uint64_t end)
{
	struct stack_sum *s = stack_of(c, event_stack(e));
	uint64_t ticks = end > e->stamp ? end - e->stamp : 0;

	if (!s->statistics.count)
		s->statistics.call = event_call(e);
	s->changed = true;
	statistics_count(&s->statistics, event_size(e), event_slack(e), e->stamp,
			 statistics_bucket((uint64_t)((double)ticks * c->ns_per_tick)));
	s->statistics.reallocs += event_op(e) == OP_REALLOC_TO;
	c->reallocs += event_op(e) == OP_REALLOC_TO;
	c->bytes += event_size(e);
	c->allocations++;
	return &s->statistics;
}

/* All that a chain did is left out; `e` freed it. */
static void leave_out(struct cull *c, uint32_t chain, const struct event *e, bool temporary)
{
	struct event last = { 0 };
	struct statistics *s;

	for (uint32_t i = c->chains[chain].first, next; i != NONE; i = next) {
		const struct item *it = &c->items[i];

		next = it->next;
		if (allocates(&it->event)) {
			if (last.word1)
				cull_count_allocation(c, &last, it->event.stamp);
			last = it->event;
		}
		c->failures += event_op(&it->event) == OP_REALLOC_FAILED;
		c->events++;
		drop_item(c, i);
	}
	s = cull_count_allocation(c, &last, e->stamp);
	s->frees++;
	c->events++;
	c->frees++;
	if (temporary) {
		s->temporary++;
		s->temporary_bytes += event_size(&last);
		c->temporary++;
	}
	free_chain(c, chain);
}

/* Was there a fork whose child has inherited what was alive between the two? */
static bool was_inherited(const struct cull *c, uint64_t began, uint64_t end)
{
	struct shm_family *family = &c->collector->control->family;
	uint64_t count = atomic_load_explicit(&family->fork_count, memory_order_acquire);
	uint64_t oldest = UINT64_MAX;

	for (uint64_t i = 0; i < count && i < SHM_FORKS; i++) {
		uint64_t at = atomic_load_explicit(&family->fork_stamps[i], memory_order_relaxed);

		if (began <= at && end >= at)
			return true;
		oldest = MIN(oldest, at);
	}
	return count > SHM_FORKS && began < oldest;
}

static void count_free_stack(struct cull *c, uint32_t stack)
{
	if (stack >= c->frees_room) {
		size_t room = c->frees_room ? c->frees_room * 2 : 4096;

		while (room <= stack)
			room *= 2;
		c->frees_seen = xrealloc(c->frees_seen, room);
		memset(c->frees_seen + c->frees_room, 0, room - c->frees_room);
		c->frees_room = room;
	}
	if (stack && !c->frees_seen[stack]) {
		c->frees_seen[stack] = 1;
		c->free_stacks++;
	}
}

static void write_decided(struct cull *c, uint64_t now, bool all);

static void freed(struct cull *c, const struct event *e, uint32_t ring, uint32_t row)
{
	uint32_t chain = row == NO_ALLOCATION ? NONE : extra_of(c, row)->chain;
	bool temporary = row != NO_ALLOCATION &&
			 (tags_flags(columns_tags(&c->columns, row)) & TAG_TEMPORARY) != 0;

	row_ends(c, row);
	count_free_stack(c, event_stack(e));
	if (chain != NONE && e->stamp - c->chains[chain].began < c->threshold &&
	    !was_inherited(c, c->chains[chain].began, e->stamp)) {
		c->extras[row].chain = NONE;
		leave_out(c, chain, e, temporary);
		return;
	}
	cull_keep_chain(c, chain);
	add_item(c, e, ring, NONE, temporary);
}

static void allocated(struct cull *c, const struct event *e, uint32_t ring, uint64_t at,
		      uint32_t row)
{
	uint32_t old = columns_previous(&c->columns, row), chain = NONE;
	bool odd = c->displaces;

	if (event_op(e) == OP_REALLOC_TO) {
		if (old == NO_ALLOCATION) {
			odd = true;
		} else {
			row_ends(c, old);
			count_free_stack(c, event_stack(e));
			chain = extra_of(c, old)->chain;
			c->extras[old].chain = NONE;
			odd |= chain == NONE; /* it has been decided on */
		}
	}
	if (odd)
		cull_keep_chain(c, chain), chain = NONE;
	else if (chain == NONE)
		chain = new_chain(c, row, e->stamp);
	extra_of(c, row)->chain = chain;
	if (chain != NONE)
		c->chains[chain].row = row;
	begins(c, row, at);
	if (c->pair.totals.peak_at == at)
		c->epoch++;
	add_item(c, e, ring, chain, false);
	if (c->most_waiting && c->chains_waiting > c->most_waiting)
		write_decided(c, 0, false);
}

/* Two blocks at one address: a free is missing or late, and the reader must see both.  `by` may be
 * the block that is being allocated: what it does is told next. */
static void displaced(void *context, uint32_t row, uint32_t by)
{
	struct cull *c = context;

	cull_keep_chain(c, extra_of(c, row)->chain);
	cull_keep_chain(c, extra_of(c, by)->chain);
	row_ends(c, row);
	c->displaces = true;
}

/* What came before its block's allocation is told of twice: then the block is odd. */
static void came_early(struct cull *c, uint32_t row, bool closed)
{
	cull_keep_chain(c, extra_of(c, row)->chain);
	if (closed)
		row_ends(c, row);
}

/* Events get the times that they were paired at, all different: the reader then has them in the
 * same order, which a ring's own stamps do not give once some are left out. */
static void observe(void *context, const struct event *was, uint32_t ring, uint64_t at,
		    uint32_t row)
{
	struct event moved = { at, was->word1, was->word2, was->word3 }, *e = &moved;
	struct cull *c = context;

	if (event_op(e) >= OP_MAP)
		e->stamp = was->stamp; /* these are ordered by it, whatever else there is */
	if (c->pair.early_end) {
		came_early(c, row, event_op(e) == OP_FREE);
		return;
	}
	switch (event_op(e)) {
	case OP_ALLOC:
	case OP_REALLOC_TO:
		if (row != NO_ALLOCATION)
			allocated(c, e, ring, at, row);
		else
			add_item(c, e, ring, NONE, false);
		break;
	case OP_FREE:
	case OP_REALLOC_FREED:
		freed(c, e, ring, row);
		break;
	case OP_REALLOC_FROM:
	case OP_REALLOC_FAILED:
		add_item(c, e, ring, row == NO_ALLOCATION ? NONE : extra_of(c, row)->chain, false);
		break;
	default:
		add_item(c, e, ring, NONE, false);
		break;
	}
	c->displaces = false;
}

static void encode_run(struct cull *c)
{
	struct collector *k = c->collector;
	uint32_t done = 0;

	while (done < c->run_count) {
		uint32_t n = c->run_count - done, room = codec_room(&k->encoder);

		if (!room) {
			k->horizon = c->run[done].stamp; /* nothing older is still to come */
			drain_close_chunk(k);
			continue;
		}
		if (!k->encoder.event_count)
			k->chunk_started_ns = now_ns();
		n = MIN(n, room);
		codec_add(&k->encoder, c->run_ring, c->run + done, n);
		done += n;
	}
	c->run_count = 0;
}

static void encode(struct cull *c, const struct event *e, uint32_t ring)
{
	if (c->run_count == RUN || (c->run_count && c->run_ring != ring))
		encode_run(c);
	c->run_ring = ring;
	c->run[c->run_count++] = *e;
}

static struct ring_state *ring_of(struct cull *c, uint32_t ring)
{
	if (ring >= c->ring_room) {
		size_t room = ring + 16;

		c->rings = xreallocarray(c->rings, room, sizeof(*c->rings));
		memset(c->rings + c->ring_room, 0, (room - c->ring_room) * sizeof(*c->rings));
		c->ring_room = room;
	}
	return &c->rings[ring];
}

/* A reader takes a block for temporary that its thread's next event frees.  If what was between the
 * two is left out, the thread says its name again there. */
static void write_item(struct cull *c, const struct item *it)
{
	struct ring_state *r = ring_of(c, it->ring);
	enum event_op op = event_op(&it->event);
	bool frees = op == OP_FREE || op == OP_REALLOC_FREED;

	if (frees && !it->temporary && !r->open && r->thread.word1 &&
	    r->last_allocated == event_address(&it->event)) {
		r->thread.stamp = it->event.stamp;
		encode(c, &r->thread, it->ring);
		c->events--;
	}
	if (op == OP_THREAD)
		r->thread = it->event;
	if (op == OP_REALLOC_FROM)
		r->open++;
	else if (r->open &&
		 (op == OP_REALLOC_TO || op == OP_REALLOC_FREED || op == OP_REALLOC_FAILED))
		r->open--;
	if (!event_op_aside(op))
		r->last_allocated = allocates(&it->event) ? event_address(&it->event) : 0;
	encode(c, &it->event, it->ring);
}

/* Writes from the front what is decided, or old enough at `now`. */
static void write_decided(struct cull *c, uint64_t now, bool all)
{
	while (c->oldest != NONE) {
		uint32_t i = c->oldest, chain = c->items[i].chain;

		if (chain != NONE) {
			uint64_t began = c->chains[chain].began;
			bool old = now > began && now - began >= c->threshold;
			bool many = c->most_waiting && c->chains_waiting > c->most_waiting;

			if (!old && !many && !all)
				break;
			cull_keep_chain(c, chain);
		}
		write_item(c, &c->items[i]);
		drop_item(c, i);
	}
	if (c->run_count)
		encode_run(c);
}

/* The horizon of what is encoded: nothing older is still to come. */
static void set_horizon(struct cull *c, uint64_t horizon)
{
	if (c->oldest != NONE && c->items[c->oldest].event.stamp < horizon)
		horizon = c->items[c->oldest].event.stamp;
	c->collector->horizon = horizon;
}

static void measure_clock(struct cull *c, uint64_t stamp)
{
	const struct shm_control *control = c->collector->control;
	uint64_t ns = now_ns();

	if (control->clock == CLOCK_TICKS && stamp > control->start_stamp &&
	    ns > control->start_monotonic_ns + MS)
		c->ns_per_tick = (double)(ns - control->start_monotonic_ns) /
				 (double)(stamp - control->start_stamp);
	c->threshold = (uint64_t)((double)c->threshold_ns / c->ns_per_tick);
}

struct cull *cull_new(struct collector *collector)
{
	const struct options *o = &collector->control->options;
	struct cull *c;

	if (!o->cull)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->collector = collector;
	c->item_free = c->oldest = c->newest = c->chain_free = NONE;
	c->threshold_ns = o->cull_lifetime * MS;
	c->most_waiting = o->cull_pending;
	/* Until it has been measured: a slow clock, so that nothing is left out that is too old. */
	c->ns_per_tick = 1;
	pair_init(&c->pair, &c->columns, &c->threads, &c->markers);
	pair_recycle(&c->pair);
	c->pair.observe = observe;
	c->pair.observe_displaced = displaced;
	c->pair.observer = c;
	merge_init(&c->merge, &c->pair);
	return c;
}

void cull_take(struct cull *c, uint32_t ring, const struct event *events, uint32_t n)
{
	struct event *to;

	if (!c->blocks_used || c->block_fill + n > BLOCK_EVENTS) {
		if (c->blocks_used == c->block_count) {
			*xpush(c->blocks, c->block_count, c->block_room) =
				xreallocarray(NULL, BLOCK_EVENTS, sizeof(**c->blocks));
		}
		c->blocks_used++;
		c->block_fill = 0;
	}
	to = c->blocks[c->blocks_used - 1] + c->block_fill;
	memcpy(to, events, n * sizeof(*events));
	c->block_fill += n;
	merge_add(&c->merge, ring, to, n);
}

void cull_pass(struct cull *c, uint64_t horizon)
{
	const struct shm_control *control = c->collector->control;

	c->pair.unsure |=
		control->counters[COUNTER_switched_on] || control->counters[COUNTER_switched_off];
	measure_clock(c, horizon);
	merge_run(&c->merge, horizon);
	c->blocks_used = 0;
	write_decided(c, horizon, false);
	set_horizon(c, horizon);
}

void cull_let_go(struct cull *c)
{
	write_decided(c, 0, true);
	set_horizon(c, c->merge.horizon);
}

void cull_finish(struct cull *c)
{
	merge_finish(&c->merge);
	c->blocks_used = 0;
	write_decided(c, 0, true);
	c->collector->horizon = UINT64_MAX;
}

void cull_write_statistics(struct cull *c, bool all)
{
	struct payload *p = &c->collector->payload;

	p->used = 0;
	for (size_t i = 0; i < c->stack_count; i++) {
		struct stack_sum *s = &c->stacks[i];

		if (!s->statistics.count || !(all || s->changed))
			continue;
		catch_up(c, s);
		s->changed = false;
		if (!payload_fits(p, STATISTICS_ROW_MAX)) {
			recording_write(&c->collector->recording, CHUNK_STATISTICS, EFFORT_REST,
					p->data, p->used, 0);
			p->used = 0;
		}
		p->used = (size_t)(statistics_put(p->data + p->used, &s->statistics) - p->data);
	}
	if (p->used)
		recording_write(&c->collector->recording, CHUNK_STATISTICS, EFFORT_REST, p->data,
				p->used, 0);
}

void cull_put_counters(const struct cull *c, struct payload *p)
{
	const struct totals *t = &c->pair.totals;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ COUNTER_REMOVED_EVENTS, c->events },
		{ COUNTER_REMOVED_ALLOCATIONS, c->allocations },
		{ COUNTER_REMOVED_FREES, c->frees },
		{ COUNTER_REMOVED_REALLOCS, c->reallocs },
		{ COUNTER_REMOVED_BYTES, c->bytes },
		{ COUNTER_REMOVED_TEMPORARY, c->temporary },
		{ COUNTER_REMOVED_REALLOC_FAILURES, c->failures },
		{ COUNTER_WHOLE_PEAK_BYTES, t->peak_bytes },
		{ COUNTER_WHOLE_PEAK_COUNT, t->peak_count },
		{ COUNTER_WHOLE_PEAK_STAMP, t->peak_at },
		{ COUNTER_WHOLE_FREE_STACKS, c->free_stacks },
		{ COUNTER_WHOLE_FIRST_STAMP, t->first_at },
		{ COUNTER_WHOLE_LAST_STAMP, t->last_at },
		{ COUNTER_WHOLE_HEAPTRACK_TEMPORARY, t->heaptrack_temporary },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		payload_text(p, rows[i].name);
		payload_number(p, rows[i].value);
	}
}

struct cull *cull_free(struct cull *c)
{
	if (!c)
		return NULL;
	merge_release(&c->merge);
	pair_release(&c->pair);
	columns_release(&c->columns);
	threads_release(&c->threads);
	markers_release(&c->markers);
	for (size_t i = 0; i < c->block_count; i++)
		free(c->blocks[i]);
	free(c->blocks);
	free(c->items);
	free(c->chains);
	free(c->extras);
	free(c->stacks);
	free(c->place);
	free(c->frees_seen);
	free(c->rings);
	free(c);
	return NULL;
}
