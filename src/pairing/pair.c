/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pairing.  See pair.h.  This is most of what loading a recording costs: the memory that an event
 * will need is asked for a few events ahead, first the table's line, then the row's. */
#include "pairing/pair.h"

#include <string.h>

#include "base/xalloc.h"

#define AHEAD_TABLE 24
#define AHEAD_ROW 12
#define AHEAD_END 6
#define FORESEEN 16 /* more than AHEAD_ROW */
#define AHEAD_UNUSED 6

void pair_init(struct pair *p, struct columns *columns, struct threads *threads,
	       struct markers *markers)
{
	memset(p, 0, sizeof(*p));
	p->columns = columns;
	p->threads = threads;
	p->markers = markers;
	for (unsigned i = 0; i < PAIR_DISPLACED; i++)
		p->displaced[i].by = NO_ALLOCATION;
	live_init(&p->live);
	p->last = NO_ALLOCATION;
}

void pair_recycle(struct pair *p)
{
	p->recycle = true;
	p->closed_room = p->builder ? PAIR_CLOSED_HOT : PAIR_CLOSED;
	p->closed = xreallocarray(NULL, p->closed_room, sizeof(*p->closed));
}

void pair_into(struct pair *p, struct row_builder *b)
{
	p->builder = b;
	pair_recycle(p);
}

void pair_release(struct pair *p)
{
	free(p->numbers);
	live_release(&p->live);
	free(p->rings);
	free(p->closed);
	free(p->unused);
	memset(p, 0, sizeof(*p));
}

static struct pair_ring *ring_of(struct pair *p, uint32_t ring)
{
	if (ring >= p->ring_count) {
		size_t count = ring + 16;

		p->rings = xreallocarray(p->rings, count, sizeof(*p->rings));
		for (size_t i = p->ring_count; i < count; i++) {
			memset(&p->rings[i], 0, sizeof(p->rings[i]));
			p->rings[i].thread = p->rings[i].last = NO_ALLOCATION;
		}
		p->ring_count = count;
	}
	return &p->rings[ring];
}

/* No two events share a time, so that "alive at t" has one answer. */
static uint64_t mend_time(struct pair *p, uint64_t stamp)
{
	if (stamp > p->now)
		p->now = stamp < NEVER ? stamp : NEVER - 1;
	else if (p->now < NEVER - 1)
		p->now++;
	if (!p->totals.events)
		p->totals.first_at = p->now;
	return p->now;
}

static inline void tell_observer(const struct pair *p, const struct event *e, uint32_t ring,
				 uint64_t at, uint32_t row)
{
	if (__builtin_expect(p->observe != NULL, 0))
		p->observe(p->observer, e, ring, at, row);
}

/* What is remembered of a row's last life must not be taken for its next one's. */
static void forget_row(struct pair *p, uint32_t row)
{
	if (p->doubts[row % PAIR_DOUBTS].row == row)
		p->doubts[row % PAIR_DOUBTS].event.word1 = 0;
	for (unsigned i = 0; p->any_displaced && i < PAIR_DISPLACED; i++)
		if (p->displaced[i].row == row || p->displaced[i].by == row)
			p->displaced[i].by = NO_ALLOCATION;
}

/* The row of a new block: one that has been closed for long, or one more. */
static uint32_t new_row(struct pair *p)
{
	const struct columns *c = p->columns;

	if (!p->unused_count)
		return c->count;
	if (p->builder && p->unused_count > AHEAD_UNUSED) {
		uint32_t soon = p->unused[p->unused_count - AHEAD_UNUSED];

		__builtin_prefetch(&c->plain.allocated_at[soon], 1);
		__builtin_prefetch(&c->plain.address[soon], 1);
		__builtin_prefetch(&c->plain.sizes[soon], 1);
		__builtin_prefetch(&c->plain.tags[soon], 1);
		__builtin_prefetch(&c->plain.stack[soon], 1);
		__builtin_prefetch(&c->plain.chain[soon], 1);
		__builtin_prefetch(&p->numbers[soon], 1);
	}
	return p->unused[--p->unused_count];
}

static void recycle(struct pair *p, uint32_t row)
{
	uint32_t *place = &p->closed[p->closed_count % p->closed_room];

	if (p->closed_count++ >= p->closed_room && *place != NO_ALLOCATION) {
		forget_row(p, *place);
		*xpush(p->unused, p->unused_count, p->unused_room) = *place;
	}
	*place = row;
}

/* It is alive again. */
static void unclose(struct pair *p, uint32_t row)
{
	for (uint32_t i = 0; p->recycle && i < p->closed_room && i < p->closed_count; i++)
		if (p->closed[i] == row)
			p->closed[i] = NO_ALLOCATION;
}

static void close_row(struct pair *p, uint32_t row, uint64_t at, uint32_t stack, uint64_t tags)
{
	struct columns *c = p->columns;

	c->plain.tags[row] = tags;
	if (p->builder) {
		row_builder_end(p->builder, p->numbers[row], at - c->plain.allocated_at[row], tags,
				stack);
	} else {
		c->plain.freed_at[row] = at;
		c->plain.free_stack[row] = stack;
	}
	p->totals.live_count--;
	p->totals.live_bytes -= columns_size(c, row);
	if (p->recycle)
		recycle(p, row);
}

static uint64_t freed_tags(const struct pair *p, uint32_t row, const struct pair_ring *r,
			   const struct event *e, unsigned flags)
{
	return tags_freed(columns_tags(p->columns, row), r->thread, event_call(e), flags);
}

/* Its address was handed out again, so the end that was doubted was its own. */
static bool ended_before(struct pair *p, uint32_t row)
{
	struct event *e = &p->doubts[row % PAIR_DOUBTS].event;
	bool freed = event_op(e) == OP_FREE;

	if (!e->word1 || p->doubts[row % PAIR_DOUBTS].row != row)
		return false;
	close_row(p, row, columns_allocated_at(p->columns, row) + 1,
		  freed ? event_stack(e) : STACK_NONE,
		  freed_tags(p, row, ring_of(p, p->doubts[row % PAIR_DOUBTS].ring), e,
			     freed ? 0 : TAG_REALLOCATED));
	p->totals.mended++;
	if (freed) {
		p->totals.deallocations++;
		p->totals.unknown_frees--;
	}
	e->word1 = 0;
	return true;
}

/* The address of a live block was handed out again: its free was lost, or comes late. */
static void displace(struct pair *p, uint32_t row, uint64_t at, uint32_t by, uint32_t ring)
{
	if (p->observe_displaced)
		p->observe_displaced(p->observer, row, by);
	if (p->unsure && ended_before(p, row))
		return;
	close_row(p, row, at, STACK_NONE,
		  columns_tags(p->columns, row) | (uint64_t)TAG_FREE_LOST << 58);
	p->totals.implicit_frees++;
	p->displaced[p->displaced_next].row = row;
	p->displaced[p->displaced_next].by = by;
	p->displaced[p->displaced_next].ring = ring;
	p->displaced[p->displaced_next].at = at;
	p->displaced_next = (p->displaced_next + 1) % PAIR_DISPLACED;
	p->any_displaced = true;
}

/* It was taken for freed, and is as good as alive again: what ends it has come. */
static uint32_t bring_back(struct pair *p, unsigned i)
{
	uint32_t row = p->displaced[i].row;

	p->displaced[i].by = NO_ALLOCATION;
	p->columns->plain.tags[row] &= ~((uint64_t)TAG_FREE_LOST << 58);
	if (!p->builder)
		p->columns->plain.freed_at[row] = NEVER;
	unclose(p, row);
	if (p->builder)
		row_builder_end(p->builder, p->numbers[row], 0, p->columns->plain.tags[row],
				STACK_NONE);
	p->totals.implicit_frees--;
	p->totals.mended++;
	p->totals.live_count++;
	p->totals.live_bytes += columns_size(p->columns, row);
	return row;
}

/* The first event that ends a block after its address was handed out again on another thread: it
 * belongs to the block before. */
static uint32_t displaced_by(struct pair *p, uint32_t by, uint32_t ring)
{
	for (unsigned i = 0; i < PAIR_DISPLACED; i++)
		if (p->displaced[i].by == by && p->displaced[i].ring != ring)
			return bring_back(p, i);
	return NO_ALLOCATION;
}

/* The end of nothing, right after the thread that was handed the address has freed it again: it
 * belongs to the block before, too. */
static uint32_t displaced_at(struct pair *p, uint64_t address, uint32_t ring, uint64_t at)
{
	for (unsigned i = 0; i < PAIR_DISPLACED; i++) {
		uint32_t row = p->displaced[i].row;

		if (p->displaced[i].by != NO_ALLOCATION && p->displaced[i].ring != ring &&
		    columns_address(p->columns, row) == address &&
		    at <= p->displaced[i].at + PAIR_INVERSION)
			return bring_back(p, i);
	}
	return NO_ALLOCATION;
}

/* The block that an event ends; it is no longer in the table then. */
static uint32_t pair_take_row(struct pair *p, const struct event *e, uint32_t ring, uint64_t at)
{
	uint64_t address = event_address(e);
	uint32_t row = live_take(&p->live, p->columns, address), before;

	/* Nearly no recording has any, and the column is one more line of memory to wait for. */
	if (!p->any_displaced)
		return row;
	if (row == NO_ALLOCATION)
		return displaced_at(p, address, ring, at);
	if (at > columns_allocated_at(p->columns, row) + PAIR_INVERSION)
		return row;
	before = displaced_by(p, row, ring);
	if (before == NO_ALLOCATION)
		return row;
	live_add(&p->live, p->columns, row);
	return before;
}

static void begin_number(struct pair *p, uint32_t row, const struct pair_ring *r,
			 const struct event *e, uint64_t at)
{
	if (row >= p->number_room) {
		p->number_room = p->columns->room;
		p->numbers = xreallocarray(p->numbers, p->number_room, sizeof(*p->numbers));
	}
	p->numbers[row] = row_builder_begin(
		p->builder, at, event_address(e), event_size(e), event_slack(e),
		tags_make(r->thread, event_call(e), event_flags(e)), event_stack(e));
}

static uint32_t open_row(struct pair *p, struct pair_ring *r, const struct event *e, uint64_t at)
{
	struct columns *c = p->columns;
	struct totals *t = &p->totals;
	uint32_t row = p->recycle ? new_row(p) : c->count, old;
	uint64_t size = event_size(e);

	if (row >= COLUMNS_MAX || (p->builder && row_builder_count(p->builder) >= COLUMNS_MAX)) {
		p->overflowed = true;
		return NO_ALLOCATION;
	}
	if (row == c->room)
		columns_grow(c);
	if (p->builder)
		begin_number(p, row, r, e, at);
	c->plain.allocated_at[row] = at;
	c->plain.address[row] = event_address(e);
	c->plain.tags[row] = tags_make(r->thread, event_call(e), event_flags(e));
	c->plain.stack[row] = event_stack(e);
	if (p->builder) {
		c->plain.sizes[row] = size;
		c->plain.chain[row] = NO_CHAIN;
	} else {
		columns_set_size(c, row, size, event_slack(e));
		c->plain.freed_at[row] = NEVER;
		c->plain.free_stack[row] = STACK_NONE;
		c->plain.previous[row] = NO_ALLOCATION;
	}
	c->count += row == c->count;

	old = live_add(&p->live, c, row);
	if (old != NO_ALLOCATION)
		displace(p, old, at, row, (uint32_t)(r - p->rings));
	t->allocations++;
	t->allocated_bytes += size;
	t->live_count++;
	t->live_bytes += size;
	r->last = p->last = row;
	r->last_at = at;
	return row;
}

static unsigned early_slot(uint64_t address)
{
	return (unsigned)((address >> 4) * 0x9e3779b97f4a7c15ull >> 56) % PAIR_EARLY;
}

/* The end of nothing: kept for a while, in case the allocation comes after it. */
static void keep_early(struct pair *p, const struct event *e, uint32_t ring, uint64_t at)
{
	unsigned slot = early_slot(event_address(e));

	p->early[slot].event = *e;
	p->early[slot].ring = ring;
	p->early[slot].at = at;
	p->early_until = at + PAIR_INVERSION;
}

static void look_at_peak(struct totals *t, uint64_t at)
{
	if (t->live_bytes > t->peak_bytes) {
		t->peak_bytes = t->live_bytes;
		t->peak_count = t->live_count;
		t->peak_at = at;
	}
}

/* A block ends: was one like it allocated just now?  Sizes first: only these are at hand. */
static inline void look_for_alike(struct pair *p, uint32_t row)
{
	const struct columns *c = p->columns;

	if (p->last != NO_ALLOCATION && columns_size(c, p->last) == columns_size(c, row) &&
	    columns_stack(c, p->last) == columns_stack(c, row))
		p->totals.heaptrack_temporary++;
	p->last = NO_ALLOCATION;
}

static void free_row(struct pair *p, struct pair_ring *r, const struct event *e, uint64_t at,
		     uint32_t row)
{
	unsigned flags = 0;

	if (row == NO_ALLOCATION) {
		p->totals.unknown_frees++;
		return;
	}
	look_for_alike(p, row);
	if (row == r->last && columns_allocated_at(p->columns, row) == r->last_at) {
		flags = TAG_TEMPORARY;
		p->totals.temporary++;
	}
	close_row(p, row, at, event_stack(e), freed_tags(p, row, r, e, flags));
	p->totals.deallocations++;
}

static uint32_t ring_that_allocated(const struct pair *p, uint32_t row)
{
	uint32_t ring = 0;

	while (ring < p->ring_count &&
	       p->rings[ring].thread != tags_thread(columns_tags(p->columns, row)))
		ring++;
	return ring;
}

/* A realloc that never came to an end leaves its block where it was.  Another block that is at its
 * address by now was allocated after it, whatever the clocks say. */
static void put_back(struct pair *p, uint32_t row, uint64_t at)
{
	uint32_t by;

	if (row == NO_ALLOCATION)
		return;
	by = live_find(&p->live, p->columns, columns_address(p->columns, row));
	if (by == NO_ALLOCATION)
		live_add(&p->live, p->columns, row);
	else
		displace(p, row, at, by, ring_that_allocated(p, by));
}

static void push_pending(struct pair *p, struct pair_ring *r, uint32_t row, uint64_t at)
{
	if (r->pending_count == PAIR_PENDING) {
		put_back(p, r->pending[0], at);
		memmove(r->pending, r->pending + 1, sizeof(r->pending) - sizeof(r->pending[0]));
		r->pending_count--;
	}
	r->pending[r->pending_count++] = row;
}

static uint32_t pop_pending(struct pair_ring *r)
{
	return r->pending_count ? r->pending[--r->pending_count] : NO_ALLOCATION;
}

static void link_numbers(struct pair *p, uint32_t row, uint32_t old)
{
	uint32_t *chains = p->columns->plain.chain;

	chains[row] = row_builder_link(p->builder, p->numbers[row], p->numbers[old], chains[old]);
}

static uint32_t reallocated(struct pair *p, struct pair_ring *r, const struct event *e, uint64_t at)
{
	uint32_t old = pop_pending(r), row;

	if (old != NO_ALLOCATION) {
		look_for_alike(p, old);
		close_row(p, old, at, event_stack(e), freed_tags(p, old, r, e, TAG_REALLOCATED));
	}
	row = open_row(p, r, e, at);
	if (row != NO_ALLOCATION) {
		p->totals.reallocations++;
		if (!p->builder)
			p->columns->plain.previous[row] = old;
		else if (old != NO_ALLOCATION)
			link_numbers(p, row, old);
	}
	return row;
}

/* The block that was just allocated was freed, or given to realloc, by an event that came before.
 */
static void end_early(struct pair *p, uint32_t row, const struct event *e, uint32_t ring,
		      uint64_t stamp)
{
	struct pair_ring *r = ring_of(p, ring);
	uint64_t at = mend_time(p, stamp);
	struct event ended;

	live_take(&p->live, p->columns, event_address(e));
	p->totals.mended++;
	if (event_op(e) == OP_FREE) {
		free_row(p, r, e, at, row);
		p->totals.unknown_frees--;
		tell_observer(p, e, ring, at, row);
		return;
	}
	for (uint32_t i = r->pending_count; i-- > 0;)
		if (r->pending[i] == NO_ALLOCATION) {
			r->pending[i] = row;
			tell_observer(p, e, ring, at, row);
			return;
		}
	/* The realloc has come to its end already; only the link to what it became is lost. */
	close_row(p, row, at, STACK_NONE, freed_tags(p, row, r, e, TAG_REALLOCATED));
	ended = *e;
	ended.word1 = event_address(e) | (uint64_t)OP_FREE << 56;
	ended.word3 = STACK_NONE;
	tell_observer(p, &ended, ring, at, row);
}

static __attribute__((noinline)) void look_for_early_end(struct pair *p, uint32_t row,
							 uint32_t ring, uint64_t at)
{
	unsigned slot;
	struct event *e;

	if (row == NO_ALLOCATION)
		return;
	slot = early_slot(columns_address(p->columns, row));
	e = &p->early[slot].event;
	if (!e->word1 || p->early[slot].ring == ring ||
	    event_address(e) != columns_address(p->columns, row) ||
	    p->early[slot].at + PAIR_INVERSION < at)
		return;
	if (p->unsure) {
		p->doubts[row % PAIR_DOUBTS].event = *e;
		p->doubts[row % PAIR_DOUBTS].row = row;
		p->doubts[row % PAIR_DOUBTS].ring = p->early[slot].ring;
	} else {
		p->early_end = true;
		end_early(p, row, e, p->early[slot].ring, at);
		p->early_end = false;
	}
	e->word1 = 0;
}

static void thread_starts(struct pair *p, struct pair_ring *r, const struct event *e, uint64_t at)
{
	char name[16];

	while (r->pending_count)
		put_back(p, pop_pending(r), at);
	memcpy(name, &e->word2, sizeof(name));
	r->thread = threads_row(p->threads, event_address(e));
	if (name[0])
		threads_name(p->threads, r->thread, name, sizeof(name));
}

/* The pieces of a name follow each other in a ring; one that does not fit is left out. */
static void marker_is_set(struct pair *p, struct pair_ring *r, const struct event *e, uint64_t at)
{
	char name[MARKER_PIECE];

	memcpy(name, &e->word2, sizeof(name));
	if (!event_piece(e)) {
		r->marker = markers_add(p->markers, at, event_marker(e), name, sizeof(name));
		r->marker_pieces = 1;
	} else if (event_piece(e) == r->marker_pieces) {
		markers_extend(p->markers, r->marker, name, sizeof(name));
		r->marker_pieces++;
	}
}

static void memory_is_mapped(struct pair *p, struct pair_ring *r, const struct event *e)
{
	struct map_call call = { .at = e->stamp < NEVER ? e->stamp : NEVER - 1,
				 .address = event_address(e),
				 .length = event_size(e),
				 .stack = event_stack(e),
				 .thread = r->thread,
				 .given = event_slack(e),
				 .call = (uint8_t)event_call(e),
				 .flags = (uint8_t)event_flags(e),
				 .kind = event_op(e) == OP_MAP	   ? MAP_CALL_MAPS
					 : event_op(e) == OP_UNMAP ? MAP_CALL_UNMAPS
								   : MAP_CALL_CHANGES };

	if (p->map_calls)
		map_calls_add(p->map_calls, &call);
}

static void other_event(struct pair *p, struct pair_ring *r, const struct event *e, uint32_t ring,
			uint64_t at)
{
	switch (event_op(e)) {
	case OP_REALLOC_FROM: {
		uint32_t row = pair_take_row(p, e, ring, at);

		if (row == NO_ALLOCATION)
			keep_early(p, e, ring, at);
		push_pending(p, r, row, at);
		tell_observer(p, e, ring, at, row);
		break;
	}
	case OP_REALLOC_TO: {
		uint32_t row = reallocated(p, r, e, at);

		look_at_peak(&p->totals, at);
		tell_observer(p, e, ring, at, row);
		if (at < p->early_until)
			look_for_early_end(p, row, ring, at);
		return; /* what it allocated is the ring's last */
	}
	case OP_REALLOC_FREED: {
		uint32_t row = pop_pending(r);

		free_row(p, r, e, at, row);
		tell_observer(p, e, ring, at, row);
		break;
	}
	case OP_REALLOC_FAILED: {
		uint32_t row = pop_pending(r);

		put_back(p, row, at);
		p->totals.realloc_failures++;
		tell_observer(p, e, ring, at, row);
		break;
	}
	case OP_THREAD:
		thread_starts(p, r, e, at);
		tell_observer(p, e, ring, at, NO_ALLOCATION);
		break;
	case OP_MARKER:
		marker_is_set(p, r, e, at);
		tell_observer(p, e, ring, at, NO_ALLOCATION);
		return; /* what is freed next may still be temporary */
	case OP_MAP:
	case OP_UNMAP:
	case OP_CHANGE:
		memory_is_mapped(p, r, e);
		tell_observer(p, e, ring, at, NO_ALLOCATION);
		return;
	default:
		tell_observer(p, e, ring, at, NO_ALLOCATION);
		break;
	}
	r->last = NO_ALLOCATION;
}

static inline void one_event(struct pair *p, const struct event *e, uint32_t ring)
{
	struct pair_ring *r = ring_of(p, ring);
	enum event_op op = event_op(e);
	/* What is told of memory maps has its own order, and takes no time. */
	uint64_t at = __builtin_expect(op >= OP_MAP && p->totals.events, 0)
			      ? p->now
			      : mend_time(p, e->stamp);

	p->totals.events++;
	if (r->thread == NO_ALLOCATION && op != OP_THREAD)
		r->thread = threads_row(p->threads, 0);
	if (op == OP_ALLOC) {
		uint32_t row = open_row(p, r, e, at);

		look_at_peak(&p->totals, at);
		tell_observer(p, e, ring, at, row);
		if (at < p->early_until)
			look_for_early_end(p, row, ring, at);
	} else if (op == OP_FREE) {
		uint32_t row = pair_take_row(p, e, ring, at);

		if (row == NO_ALLOCATION)
			keep_early(p, e, ring, at);
		free_row(p, r, e, at, row);
		tell_observer(p, e, ring, at, row);
		r->last = NO_ALLOCATION;
	} else {
		other_event(p, r, e, ring, at);
	}
}

static inline bool ends_a_block(const struct event *e)
{
	return event_op(e) == OP_FREE || event_op(e) == OP_REALLOC_FROM;
}

/* Returns the row that the event will end, as far as that can be foreseen. */
static inline uint32_t ask_for_row(const struct pair *p, const struct event *e)
{
	const struct columns *c = p->columns;
	uint32_t row;

	if (!ends_a_block(e))
		return NO_ALLOCATION;
	row = live_guess(&p->live, event_address(e));
	if (row == NO_ALLOCATION)
		return row;
	__builtin_prefetch(&c->plain.address[row]);
	__builtin_prefetch(&c->plain.sizes[row]);
	__builtin_prefetch(&c->plain.tags[row], 1);
	if (p->builder) {
		__builtin_prefetch(&c->plain.allocated_at[row]);
		__builtin_prefetch(&p->numbers[row]);
		return row;
	}
	__builtin_prefetch(&c->plain.freed_at[row], 1);
	__builtin_prefetch(&c->plain.free_stack[row], 1);
	return row;
}

/* The row is at hand by now: where its end will be written. */
static inline void ask_for_end(const struct pair *p, uint32_t row)
{
	if (row != NO_ALLOCATION)
		row_builder_prefetch(p->builder, p->numbers[row]);
}

void pair_events(struct pair *p, const struct pair_item *items, size_t n)
{
	uint32_t foreseen[FORESEEN];

	for (size_t i = 0; i < n && i < AHEAD_TABLE; i++)
		live_prefetch(&p->live, event_address(items[i].event));
	for (size_t i = 0; i < n && i < AHEAD_ROW; i++)
		foreseen[i] = ask_for_row(p, items[i].event);
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD_TABLE < n)
			live_prefetch(&p->live, event_address(items[i + AHEAD_TABLE].event));
		if (i + AHEAD_ROW < n)
			foreseen[(i + AHEAD_ROW) % FORESEEN] =
				ask_for_row(p, items[i + AHEAD_ROW].event);
		if (p->builder && i + AHEAD_END < n)
			ask_for_end(p, foreseen[(i + AHEAD_END) % FORESEEN]);
		one_event(p, items[i].event, items[i].ring);
	}
	p->totals.last_at = p->now;
}
