/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a forked child inherited: the blocks that were alive in its parent at the fork, and the
 * memory maps.
 *
 * Read from the parent's recording, up to where each of its threads had come at that moment, and
 * written into the child's as allocations with the stamps, stacks and threads that they had.  So
 * the child's recording opens alone, and a block that the child frees is known.  The parent may
 * still be at it: its collector was asked to write what it has, and its file is read as it grows.
 * Where it cannot be read the child starts with nothing, and its recording says so. */
#include "collector/inherit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "collector/cull.h"
#include "collector/log.h"
#include "collector/naming.h"
#include "collector/regions.h"
#include "pairing/merge.h"
#include "pairing/ranges.h"
#include "recording/reader.h"
#include "wire/statistics.h"

#define MENDED 64	 /* ticks by which culling may have moved an event */
#define PATIENCE_MS 3000 /* with a parent's collector that does not write what it has */
#define NODE_GAP (1u << 20)
#define NODE_BYTES (4 * VARINT_MAX)
/* Rings that no thread has, from the last one down: the child's own are counted from the first. */
#define LOOK_EVERY 4096 /* blocks: at what the child calls itself meanwhile */
#define RINGS 64u

struct inherited_node {
	uint64_t address;
	uint32_t parent;
	uint16_t module;
	uint8_t flags, wanted;
};

struct inherit {
	struct collector *collector;
	const struct shm_position *positions;
	uint32_t ring_count;
	uint64_t *taken; /* events of each ring so far */
	uint64_t missing;
	bool culled; /* the parent's events are not all there, but all that matters */
	struct inherited_node *nodes;
	size_t node_count;
	struct columns blocks;
	struct threads threads;
	struct markers markers;
	struct map_calls map_calls;
	struct ranges maps; /* that were there at the fork: which call made each */
	struct pair pair;
	struct merge merge;
	struct event *events;
	size_t event_room;
	char why[200]; /* it is not complete */
};

static bool add_nodes(struct inherit *in, const uint8_t *p, const uint8_t *end)
{
	uint64_t first, count, address = 0;

	if (!varint_get(&p, end, &first) || !varint_get(&p, end, &count) ||
	    count > (uint64_t)(end - p) / 4 || !first || first > in->node_count + NODE_GAP ||
	    first + count >= UINT32_MAX)
		return false;
	if (first + count > in->node_count) {
		size_t room = (first + count) * 2;

		in->nodes = xreallocarray(in->nodes, room, sizeof(*in->nodes));
		memset(in->nodes + in->node_count, 0, (room - in->node_count) * sizeof(*in->nodes));
		in->node_count = room;
	}
	for (uint64_t id = first; id < first + count; id++) {
		uint64_t up, step, module, flags;

		if (!varint_get(&p, end, &up) || !varint_get(&p, end, &step) ||
		    !varint_get(&p, end, &module) || !varint_get(&p, end, &flags) || !up || up > id)
			return false;
		address += unzigzag(step);
		in->nodes[id] = (struct inherited_node){ address, (uint32_t)(id - up),
							 (uint16_t)module, (uint8_t)flags, 0 };
	}
	return true;
}

/* How many of a run's events were there at the fork. */
static uint32_t inherited_of(struct inherit *in, uint32_t ring, const struct event *events,
			     uint32_t count)
{
	uint64_t left;

	if (ring >= SHM_MAX_RINGS - RINGS) /* the parent had inherited it itself */
		return count;
	if (ring >= in->ring_count)
		return 0;
	if (in->culled) {
		uint64_t last = in->positions[ring].stamp;

		if (!last)
			last = in->collector->control->family.forked_at;
		while (count && events[count - 1].stamp > last + MENDED)
			count--;
		return count;
	}
	left = in->positions[ring].events - in->taken[ring];
	if (count > left)
		count = (uint32_t)left;
	in->taken[ring] += count;
	in->missing -= count;
	return count;
}

static bool add_events(struct inherit *in, const struct chunk *chunk)
{
	struct codec_decoder d;
	struct event *to;
	uint32_t ring, count;

	if (!codec_open(&d, chunk->payload, chunk->payload_size))
		return false;
	if (in->event_room < d.event_count) {
		in->event_room = d.event_count;
		in->events = xreallocarray(in->events, in->event_room, sizeof(*in->events));
	}
	to = in->events;
	while (codec_next_run(&d, &ring, &count)) {
		if (ring >= SHM_MAX_RINGS || !codec_read(&d, to, count))
			return false;
		merge_add(&in->merge, ring, to, inherited_of(in, ring, to, count));
		to += count;
	}
	merge_run(&in->merge, d.horizon);
	if (in->culled && d.horizon >= in->collector->control->family.forked_at)
		in->missing = 0;
	return true;
}

/* Is this among the keys of an INFO chunk? */
static bool has_key(const uint8_t *p, const uint8_t *end, const char *key)
{
	uint64_t size;

	while (varint_get(&p, end, &size) && size <= (uint64_t)(end - p)) {
		if (size == strlen(key) && !memcmp(p, key, size))
			return true;
		p += size;
		if (!varint_get(&p, end, &size) || size > (uint64_t)(end - p))
			return false;
		p += size;
	}
	return false;
}

static bool use_chunk(struct inherit *in, struct chunk *chunk, struct err *err)
{
	const uint8_t *p;

	if (!chunk_unpack(chunk, err))
		return false;
	p = chunk->payload;
	if (chunk->head.type == CHUNK_NODES)
		return add_nodes(in, p, p + chunk->payload_size);
	if (chunk->head.type == CHUNK_EVENTS)
		return add_events(in, chunk);
	if (chunk->head.type == CHUNK_SYMBOLS)
		return naming_inherit(in->collector->naming, p, chunk->payload_size);
	if (chunk->head.type == CHUNK_INFO)
		in->culled |= has_key(p, p + chunk->payload_size, INFO_REMOVED_BELOW);
	return true;
}

/* Is more of it to come?  Waits a moment if so. */
static bool wait_for_more(struct reader *r, int *waited_ms)
{
	uint64_t size = r->size;

	if (!reader_is_being_written(r) || *waited_ms >= PATIENCE_MS) {
		reader_refresh(r);
		return r->size > size;
	}
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	*waited_ms += 2;
	reader_refresh(r);
	return true;
}

static void read_parent(struct inherit *in, struct reader *r)
{
	auto_release(chunk_release) struct chunk chunk = { 0 };
	struct err err;
	int waited_ms = 0;
	bool more = true;

	while (in->missing && more) {
		title_read(in->collector);
		switch (reader_next(r, &chunk, &err)) {
		case READER_CHUNK:
			more = use_chunk(in, &chunk, &err);
			if (!more)
				snprintf(in->why, sizeof(in->why),
					 "the parent's recording is damaged");
			break;
		case READER_CUT:
			more = wait_for_more(r, &waited_ms);
			break;
		case READER_END:
		case READER_DAMAGED:
			more = false;
			break;
		}
	}
	title_read(in->collector);
	merge_finish(&in->merge);
	if (in->missing && !in->why[0])
		snprintf(in->why, sizeof(in->why),
			 "%" PRIu64 " of the parent's events are not in its recording",
			 in->missing);
}

static void want_stack(struct inherit *in, uint32_t id)
{
	while (id && id < in->node_count && !in->nodes[id].wanted) {
		in->nodes[id].wanted = 1;
		id = in->nodes[id].parent;
	}
}

/* Writes the nodes of one run without gaps; returns where the next may start. */
static uint32_t write_run(struct inherit *in, uint32_t first, uint32_t end)
{
	struct collector *c = in->collector;
	struct payload *p = &c->payload;
	uint64_t previous = 0;
	uint32_t last = first;

	while (last < end && last - first < p->room / (2 * NODE_BYTES) &&
	       (last == first || in->nodes[last].wanted))
		last++;
	p->used = 0;
	payload_number(p, first);
	payload_number(p, last - first);
	for (uint32_t id = first; id < last; id++) {
		const struct inherited_node *n = &in->nodes[id];

		payload_number(p, id - n->parent);
		payload_number(p, zigzag(n->address - previous));
		payload_number(p, n->module);
		payload_number(p, n->flags);
		previous = n->address;
		if (!n->module)
			naming_meet(c->naming, n->address - (n->flags & NODE_EXACT ? 0 : 1));
	}
	recording_write(&c->recording, CHUNK_NODES, EFFORT_REST, p->data, p->used, 0);
	return last;
}

static void write_nodes(struct inherit *in, uint32_t first_own)
{
	uint32_t end = in->node_count < first_own ? (uint32_t)in->node_count : first_own;
	uint32_t highest = 0;

	for (uint32_t id = 1; id < end;) {
		/* Numbers may not leap too far; a node that nothing refers to does no harm. */
		if (in->nodes[id].wanted || id - highest >= NODE_GAP / 2) {
			id = write_run(in, id, end);
			highest = id - 1;
		} else {
			id++;
		}
	}
}

/* The name of the thread on each ring, as it was put there last. */
static void put_event(struct inherit *in, uint32_t ring, const struct event *e)
{
	struct collector *c = in->collector;

	if (c->cull) {
		cull_take(c->cull, ring, e, 1);
		return;
	}
	if (!codec_room(&c->encoder))
		drain_close_chunk(c);
	codec_add(&c->encoder, ring, e, 1);
}

static void put_thread(struct inherit *in, uint32_t ring, uint32_t row, uint64_t stamp)
{
	const struct thread *t = &in->threads.rows[row];
	struct event e = { .stamp = stamp, .word1 = t->tid | (uint64_t)OP_THREAD << 56 };

	memcpy(&e.word2, t->name, 15);
	put_event(in, ring, &e);
}

ORDER_WITH(by_time, uint32_t, struct columns,
	   COMPARE(columns_allocated_at(context, *x), columns_allocated_at(context, *y)))

/* The rows of what was alive, in order of time: rows are used again while the file is read. */
static uint32_t *living(struct inherit *in, size_t *ret_count)
{
	struct columns *b = &in->blocks;
	uint32_t *rows = xreallocarray(NULL, (size_t)b->count + 1, sizeof(*rows));
	size_t n = 0;

	for (uint32_t row = 0; row < b->count; row++)
		if (columns_freed_at(b, row) == NEVER)
			rows[n++] = row;
	SORT_WITH(rows, n, by_time, b);
	*ret_count = n;
	return rows;
}

static void write_blocks(struct inherit *in, const uint32_t *rows, size_t count,
			 uint64_t *ret_bytes)
{
	const struct columns *b = &in->blocks;
	uint32_t owner[RINGS];

	memset(owner, 0xff, sizeof(owner));
	for (size_t i = 0; i < count; i++) {
		uint32_t row = rows[i], thread = tags_thread(columns_tags(b, row)),
			 ring = thread % RINGS;
		struct event e = {
			.stamp = columns_allocated_at(b, row),
			.word1 = columns_address(b, row) | (uint64_t)OP_ALLOC << 56,
			.word2 =
				columns_size(b, row) |
				(uint64_t)tags_call(columns_tags(b, row)) << 48 |
				(uint64_t)((tags_flags(columns_tags(b, row)) & 7) | EVENT_INHERITED)
					<< 56,
			.word3 = columns_stack(b, row) | (uint64_t)columns_slack(b, row) << 32,
		};

		if (owner[ring] != thread && thread < in->threads.count)
			put_thread(in, SHM_MAX_RINGS - 1 - ring, thread, e.stamp);
		owner[ring] = thread;
		put_event(in, SHM_MAX_RINGS - 1 - ring, &e);
		*ret_bytes += columns_size(b, row);
		if (i % LOOK_EVERY == 0)
			title_read(in->collector);
	}
}

static void find_maps(struct inherit *in)
{
	struct range at = { 0 };

	map_calls_sort(&in->map_calls);
	for (uint32_t i = 0; i < in->map_calls.count; i++) {
		const struct map_call *c = &in->map_calls.rows[i];

		if (c->kind == MAP_CALL_CHANGES)
			continue;
		ranges_cut(&in->maps, c->address, c->address + c->length);
		if (map_call_maps(c))
			ranges_add(&in->maps, c->address, c->address + c->length, i);
	}
	while (ranges_from(&in->maps, at.end, &at))
		want_stack(in, in->map_calls.rows[at.value].stack);
}

/* Behind the blocks: these are ordered by their stamps, wherever they stand. */
static void write_maps(struct inherit *in)
{
	uint32_t owner[RINGS];
	struct range at = { 0 };

	memset(owner, 0xff, sizeof(owner));
	while (ranges_from(&in->maps, at.end, &at)) {
		const struct map_call *c = &in->map_calls.rows[at.value];
		uint32_t ring = c->thread % RINGS;
		struct event e = {
			.stamp = c->at,
			.word1 = at.start | (uint64_t)OP_MAP << 56,
			.word2 = (at.end - at.start) | (uint64_t)c->call << 48 |
				 (uint64_t)c->flags << 56,
			.word3 = c->stack | (uint64_t)c->given << 32,
		};

		if (owner[ring] != c->thread && c->thread < in->threads.count)
			put_thread(in, SHM_MAX_RINGS - 1 - ring, c->thread, e.stamp);
		owner[ring] = c->thread;
		put_event(in, SHM_MAX_RINGS - 1 - ring, &e);
		if (in->collector->regions)
			regions_take(in->collector->regions, &e, 1);
	}
}

static void write_all(struct inherit *in, uint64_t *ret_count, uint64_t *ret_bytes)
{
	struct collector *c = in->collector;
	size_t count;
	uint32_t *rows = living(in, &count);

	for (size_t i = 0; i < count; i++)
		want_stack(in, columns_stack(&in->blocks, rows[i]));
	find_maps(in);
	write_nodes(in, c->control->family.first_node);
	/* All of it is older than anything that the child does. */
	c->horizon = c->control->family.forked_at;
	write_blocks(in, rows, count, ret_bytes);
	write_maps(in);
	*ret_count = count;
	free(rows);
	if (c->cull)
		cull_pass(c->cull, c->control->family.forked_at);
	drain_close_chunk(c);
}

static const struct shm_position *map_positions(struct collector *c, size_t *ret_size)
{
	const struct shm_family *family = &c->control->family;
	void *p;

	*ret_size = SHM_MAX_RINGS * sizeof(struct shm_position);
	if (family->inherited_offset != SHM_CONTROL_SIZE)
		return NULL;
	p = mmap(NULL, *ret_size, PROT_READ, MAP_SHARED, c->shm_fd,
		 (off_t)family->inherited_offset);
	return p == MAP_FAILED ? NULL : p;
}

static void take_over(struct inherit *in, struct reader *r, uint64_t *ret_count,
		      uint64_t *ret_bytes)
{
	struct collector *c = in->collector;
	uint32_t count = c->control->family.inherited_rings;
	size_t size;

	in->positions = map_positions(c, &size);
	if (!in->positions)
		return;
	in->ring_count = count > SHM_MAX_RINGS - RINGS ? SHM_MAX_RINGS - RINGS : count;
	in->taken = xcalloc(in->ring_count + 1, sizeof(*in->taken));
	for (uint32_t i = 0; i < in->ring_count; i++)
		in->missing += in->positions[i].events;
	pair_init(&in->pair, &in->blocks, &in->threads, &in->markers);
	pair_recycle(&in->pair);
	if (c->control->options.gather_maps)
		in->pair.map_calls = &in->map_calls;
	merge_init(&in->merge, &in->pair);
	read_parent(in, r);
	write_all(in, ret_count, ret_bytes);
	merge_release(&in->merge);
	pair_release(&in->pair);
	columns_release(&in->blocks);
	threads_release(&in->threads);
	markers_release(&in->markers);
	map_calls_release(&in->map_calls);
	ranges_release(&in->maps);
	free(in->nodes);
	free(in->events);
	free(in->taken);
	munmap((void *)in->positions, size);
}

void inherit_blocks(struct collector *c)
{
	const struct shm_family *family = &c->control->family;
	auto_free struct inherit *in = xcalloc(1, sizeof(*in));
	uint64_t count = 0, bytes = 0;
	struct reader reader;
	struct err err;

	in->collector = c;
	if (reader_open(&reader, family->parent_output, &err)) {
		snprintf(in->why, sizeof(in->why), "the parent's recording cannot be read: %.150s",
			 err.text);
	} else {
		if (memcmp(reader.header.id, family->parent_id, sizeof(family->parent_id)))
			snprintf(in->why, sizeof(in->why),
				 "the parent's recording is not there any more");
		else
			take_over(in, &reader, &count, &bytes);
		reader_release(&reader);
	}
	log_line(in->why[0] ? LOG_WARN : LOG_INFO, "%" PRIu64 " inherited blocks%s%s", count,
		 in->why[0] ? "; " : "", in->why);
	info_write_inherited(c, count, bytes, in->why);
}
