/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings to chunks.
 *
 * The recorder's threads each own a ring and publish its tail; this side takes what is between its
 * head and that tail straight into the encoder.  This is where the collector's time goes.  A pass
 * that finds rings nearly full is made on all cores instead (drain_cores.c). */
#include <inttypes.h>
#include <sys/mman.h>

#include "base/order.h"
#include "base/parallel.h"
#include "collector/clock.h"
#include "collector/cull.h"
#include "collector/drain.h"
#include "collector/futex.h"
#include "collector/log.h"
#include "collector/regions.h"

#define MAX_ORDER 26	   /* two gigabytes: more than any option allows */
#define WORTH_CORES 32768u /* events: fewer are soon taken by one core */

static void map_ring(struct collector *c, uint32_t i)
{
	struct collector_ring *r = &c->rings[i];
	uint64_t offset = c->control->ring_offset[i];
	struct shm_ring *ring;

	if (offset % ARCH_PAGE_MAX || offset >= SHM_FILE_SIZE - sizeof(*ring))
		goto bad;
	ring = mmap(NULL, sizeof(*ring), PROT_READ, MAP_SHARED, c->shm_fd, (off_t)offset);
	if (ring == MAP_FAILED)
		goto bad;
	r->order = ring->order;
	munmap(ring, sizeof(*ring));
	if (r->order > MAX_ORDER || offset + SHM_RING_SIZE(r->order) > SHM_FILE_SIZE)
		goto bad;
	ring = mmap(NULL, SHM_RING_SIZE(r->order), PROT_READ | PROT_WRITE, MAP_SHARED, c->shm_fd,
		    (off_t)offset);
	if (ring == MAP_FAILED)
		goto bad;
	r->ring = ring;
	r->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	log_line(LOG_DEBUG, "ring %u: room for %u events", i, 1u << r->order);
	return;
bad:
	log_line(LOG_ERROR, "ring %u cannot be mapped: its thread is not recorded", i);
}

static void find_rings(struct collector *c)
{
	uint32_t count = atomic_load_explicit(&c->control->ring_count, memory_order_acquire);

	count = MIN(count, SHM_MAX_RINGS);
	for (; c->ring_count < count; c->ring_count++)
		map_ring(c, c->ring_count);
}

void drain_wake_waiting(struct collector *c)
{
	atomic_fetch_add_explicit(&c->control->drained, 1, memory_order_release);
	futex_wake(&c->control->drained);
}

/* Above four million events a second zstd would be the largest part of the work. */
static enum recording_effort effort(const struct collector *c)
{
	uint64_t age_ns = now_ns() - c->chunk_started_ns;

	return age_ns < c->encoder.event_count * 250ull ? EFFORT_HASTE : EFFORT_EVENTS;
}

void drain_close_chunk(struct collector *c)
{
	uint32_t events = c->encoder.event_count;
	uint64_t before, begun_ns;
	size_t size;

	/* Read after the tails: all that these events refer to is in there. */
	modules_write(c);
	nodes_write(c);
	if (!events)
		return;
	info_write_switched(c);
	before = c->recording.size;
	begun_ns = now_ns();
	size = codec_finish(&c->encoder, c->horizon, c->payload.data);
	recording_write(&c->recording, CHUNK_EVENTS, effort(c), c->payload.data, size, events);
	log_line(LOG_DEBUG,
		 "a chunk of %u events: %zu bytes, %" PRIu64 " in the file, %" PRIu64 " us", events,
		 size, c->recording.size - before, (now_ns() - begun_ns) / 1000);
	codec_start(&c->encoder, c->scratch);
}

/* How far a ring is published; its head where that makes no sense. */
static uint64_t published(struct collector *c, uint32_t i)
{
	struct collector_ring *r = &c->rings[i];
	uint64_t tail = atomic_load_explicit(&r->ring->tail, memory_order_acquire);

	if (tail - r->head <= 1ull << r->order)
		return tail;
	log_line(LOG_ERROR, "ring %u makes no sense: its thread is recorded no more", i);
	r->ring = NULL;
	return r->head;
}

static uint64_t drain_ring(struct collector *c, uint32_t i, struct drain_result *result)
{
	struct collector_ring *r = &c->rings[i];
	uint64_t capacity = 1ull << r->order, taken = 0;
	uint64_t tail = published(c, i);

	result->busy |= tail - r->head >= capacity / 4;
	while (r->head < tail) {
		uint64_t at = r->head & (capacity - 1), n = tail - r->head;
		uint32_t room = c->cull ? DRAIN_STEP : codec_room(&c->encoder);

		if (!room) {
			/* A thread that waits has room again: do not let it wait for the
			 * compressor. */
			drain_wake_waiting(c);
			drain_close_chunk(c);
			continue;
		}
		n = MIN(n, capacity - at);
		n = MIN(n, DRAIN_STEP);
		n = MIN(n, room);
		if (c->cull) {
			cull_take(c->cull, i, &r->ring->events[at], (uint32_t)n);
			if (c->regions)
				regions_take(c->regions, &r->ring->events[at], (uint32_t)n);
		} else {
			uint32_t whole = c->encoder.whole_count;

			if (!c->encoder.event_count)
				c->chunk_started_ns = now_ns();
			codec_add(&c->encoder, i, &r->ring->events[at], (uint32_t)n);
			/* Most have none that are about memory maps, and are not looked through. */
			if (c->regions && c->encoder.whole_count != whole)
				regions_take(c->regions, &r->ring->events[at], (uint32_t)n);
		}
		r->head += n;
		taken += n;
		atomic_store_explicit(&r->ring->head, r->head, memory_order_release);
	}
	r->active |= taken != 0;
	if (taken)
		log_line(LOG_TRACE, "ring %u: %" PRIu64 " events taken, %" PRIu64 " so far", i,
			 taken, r->head);
	return taken;
}

/* Is a ring nearly full, and is there so much that several cores have something to do? */
static bool falls_behind(const struct collector *c)
{
	uint64_t pending = 0;
	bool full = false;

	for (uint32_t i = 0; i < c->ring_count; i++) {
		const struct collector_ring *r = &c->rings[i];
		uint64_t capacity = 1ull << r->order, n;

		if (!r->ring)
			continue;
		n = atomic_load_explicit(&r->ring->tail, memory_order_relaxed) - r->head;
		full |= n >= capacity / 4 * 3;
		pending += MIN(n, capacity);
	}
	return full && pending >= WORTH_CORES;
}

/* Takes everything on all cores.  False: nothing was taken. */
static bool drain_on_cores(struct collector *c, uint64_t start, struct drain_result *result)
{
	uint64_t taken = 0;

	/* Culling decides about one event after the other. */
	if (c->cull || c->one_core || !falls_behind(c))
		return false;
	if (!c->cores && (parallel_workers() == 1 || !(c->cores = drain_cores_new(c)))) {
		c->one_core = true;
		return false;
	}
	drain_cores_begin(c->cores);
	for (uint32_t i = 0; i < c->ring_count; i++) {
		struct collector_ring *r = &c->rings[i];
		uint64_t tail = r->ring ? published(c, i) : r->head;

		if (tail == r->head)
			continue;
		if (!drain_cores_add(c->cores, i, r->head, tail))
			return false;
		r->active = true;
		taken += tail - r->head;
	}
	/* What was taken before comes before it; and what all of it refers to. */
	drain_close_chunk(c);
	if (!drain_cores_pass(c->cores, c->horizon, start))
		return false;
	*result = (struct drain_result){ .taken = taken, .busy = true };
	return true;
}

struct drain_result drain_pass(struct collector *c)
{
	struct drain_result result = { 0 };
	uint64_t start = clock_stamp(c->control->clock);

	find_rings(c);
	if (!drain_on_cores(c, start, &result))
		for (uint32_t i = 0; i < c->ring_count; i++)
			if (c->rings[i].ring)
				result.taken += drain_ring(c, i, &result);
	/* A chunk that was closed half way through has the horizon of the pass before: what other
	 * rings held at `start` came after it. */
	c->horizon = start;
	if (result.taken)
		drain_wake_waiting(c);
	if (c->cull)
		cull_pass(c->cull, start);
	return result;
}

bool drain_pending(const struct collector *c)
{
	if (atomic_load_explicit(&c->control->ring_count, memory_order_relaxed) != c->ring_count)
		return true;
	for (uint32_t i = 0; i < c->ring_count; i++) {
		const struct collector_ring *r = &c->rings[i];
		uint64_t half = 1ull << r->order >> 1;

		if (r->ring &&
		    atomic_load_explicit(&r->ring->tail, memory_order_relaxed) - r->head >= half)
			return true;
	}
	return false;
}
