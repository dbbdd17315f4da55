/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pass over the rings on several cores.
 *
 * Takes the place of drain.c's loop, on the same thread, where rings are nearly full: one core has
 * not kept up, and threads of the program would wait.  What is published when the pass begins is
 * cut into shares, in the order in which that loop would take it; each becomes a chunk.  All cores
 * encode and compress shares (base/parallel.h), which needs no order.  What does need one happens
 * share after share:
 *
 * - heads are handed back, and map events passed on: a ring's room is one stretch;
 * - chunks are written: a ring's events stay in its order, and the last chunk alone has the horizon
 *   of this pass.  A cut between two of them leaves a file that is good up to there, as ever.
 *
 * Shares are begun in order, so that the oldest one that is not written is always being worked on,
 * and whoever waits for its turn waits for a thread that runs.  Nodes and modules were written
 * before the first share: what was published by then refers to no others. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/now.h"
#include "base/order.h"
#include "base/parallel.h"
#include "collector/collector.h"
#include "collector/drain.h"
#include "collector/log.h"
#include "collector/regions.h"

/* A chunk's tables begin empty, so very small ones are larger in sum. */
#define SHARE_MIN 16384u
#define SHARES_PER_CORE 2u

/* What one ring holds, and where that stands among all that is taken. */
struct stretch {
	uint32_t ring;
	uint64_t from, to;
	uint64_t before; /* events of the stretches before it */
};

struct drain_core {
	struct codec_encoder encoder;
	struct recording_packer packer;
	void *scratch;
	uint8_t *payload;
};

struct share {
	bool encoded, has_maps;
};

struct drain_cores {
	struct collector *collector;
	struct drain_core *cores; /* by worker */
	unsigned count;
	size_t scratch_size, payload_room;

	/* Of the pass. */
	struct stretch *stretches;
	size_t stretch_count, stretch_room;
	struct share *shares;
	size_t share_count, share_room;
	uint64_t total, share_size, horizon_before, horizon;
	_Atomic uint64_t helped; /* bits of the workers, as far as there are any */
	unsigned most;		 /* workers of any pass */

	pthread_mutex_t lock;
	pthread_cond_t turn;
	size_t released, written; /* shares, in order; under the lock */
};

static void *reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct drain_cores *drain_cores_free(struct drain_cores *d)
{
	if (!d)
		return NULL;
	for (unsigned i = 0; i < d->count; i++) {
		struct drain_core *core = &d->cores[i];

		recording_packer_release(&core->packer);
		if (core->scratch)
			munmap(core->scratch, d->scratch_size);
		if (core->payload)
			munmap(core->payload, d->payload_room);
	}
	free(d->cores);
	free(d->stretches);
	free(d->shares);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->turn);
	free(d);
	return NULL;
}

struct drain_cores *drain_cores_new(struct collector *c)
{
	struct drain_cores *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->turn, NULL);
	d->collector = c;
	d->scratch_size = codec_scratch_size();
	d->payload_room = codec_payload_bound();
	d->cores = calloc(parallel_workers(), sizeof(*d->cores));
	if (!d->cores)
		return drain_cores_free(d);
	for (; d->count < parallel_workers(); d->count++) {
		struct drain_core *core = &d->cores[d->count];

		core->scratch = reserve(d->scratch_size);
		core->payload = reserve(d->payload_room);
		if (recording_packer_init(&core->packer, d->payload_room) || !core->scratch ||
		    !core->payload) {
			d->count++;
			return drain_cores_free(d);
		}
	}
	return d;
}

/* The part of a stretch that is in a share: from, and how many. */
static uint64_t part_of(const struct drain_cores *d, const struct stretch *s, size_t share,
			uint64_t *ret_from)
{
	uint64_t begin = share * d->share_size, end = begin + d->share_size;
	uint64_t first = MAX(begin, s->before), last = MIN(end, s->before + (s->to - s->from));

	*ret_from = s->from + (first - s->before);
	return last > first ? last - first : 0;
}

/* The first stretch that has events of a share. */
static size_t first_stretch(const struct drain_cores *d, size_t share)
{
	size_t low = 0, high = d->stretch_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (d->stretches[middle].before <= share * d->share_size)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Calls `each` for all events of a share, in pieces that lie in one place. */
static void each_piece(struct drain_cores *d, size_t share, void *context,
		       void (*each)(void *context, uint32_t ring, const struct event *events,
				    uint32_t n))
{
	for (size_t i = first_stretch(d, share); i < d->stretch_count; i++) {
		const struct stretch *s = &d->stretches[i];
		const struct collector_ring *r = &d->collector->rings[s->ring];
		uint64_t capacity = 1ull << r->order, from, n = part_of(d, s, share, &from);

		if (s->before >= (share + 1) * d->share_size)
			break;
		while (n) {
			uint64_t at = from & (capacity - 1), piece = MIN(n, capacity - at);

			piece = MIN(piece, DRAIN_STEP);
			each(context, s->ring, &r->ring->events[at], (uint32_t)piece);
			from += piece;
			n -= piece;
		}
	}
}

static void encode_piece(void *context, uint32_t ring, const struct event *events, uint32_t n)
{
	codec_add(context, ring, events, n);
}

static void regions_piece(void *context, __attribute__((unused)) uint32_t ring,
			  const struct event *events, uint32_t n)
{
	regions_take(context, events, n);
}

/* Everything in this share has been read; so has all before it. */
static void release_share(struct drain_cores *d, size_t share)
{
	struct collector *c = d->collector;

	if (c->regions && d->shares[share].has_maps)
		each_piece(d, share, c->regions, regions_piece);
	for (size_t i = first_stretch(d, share); i < d->stretch_count; i++) {
		const struct stretch *s = &d->stretches[i];
		struct collector_ring *r = &c->rings[s->ring];
		uint64_t from, n = part_of(d, s, share, &from);

		if (!n && s->before >= (share + 1) * d->share_size)
			break;
		if (!n)
			continue;
		r->head = from + n;
		atomic_store_explicit(&r->ring->head, r->head, memory_order_release);
	}
}

static void encoded(struct drain_cores *d, size_t share, bool has_maps)
{
	bool released = false;

	pthread_mutex_lock(&d->lock);
	d->shares[share] = (struct share){ .encoded = true, .has_maps = has_maps };
	while (d->released < d->share_count && d->shares[d->released].encoded) {
		release_share(d, d->released++);
		released = true;
	}
	pthread_mutex_unlock(&d->lock);
	if (released)
		drain_wake_waiting(d->collector);
}

static void write_in_turn(struct drain_cores *d, size_t share,
			  const struct recording_packed *packed, uint32_t events)
{
	pthread_mutex_lock(&d->lock);
	while (d->written != share)
		pthread_cond_wait(&d->turn, &d->lock);
	pthread_mutex_unlock(&d->lock);
	recording_write_stored(&d->collector->recording, CHUNK_EVENTS, packed, events);
	pthread_mutex_lock(&d->lock);
	d->written++;
	pthread_cond_broadcast(&d->turn);
	pthread_mutex_unlock(&d->lock);
}

static void work_on_share(void *context, unsigned worker, uint64_t share,
			  __attribute__((unused)) uint64_t count)
{
	struct drain_cores *d = context;
	struct drain_core *core = &d->cores[worker];
	struct recording_packed packed;
	uint32_t events;
	size_t size;

	atomic_fetch_or_explicit(&d->helped, 1ull << worker % 64, memory_order_relaxed);
	codec_start(&core->encoder, core->scratch);
	each_piece(d, share, &core->encoder, encode_piece);
	events = core->encoder.event_count;
	encoded(d, share, core->encoder.whole_count != 0);
	size = codec_finish(&core->encoder,
			    share + 1 == d->share_count ? d->horizon : d->horizon_before,
			    core->payload);
	packed = recording_pack(&d->collector->recording, &core->packer, EFFORT_HASTE,
				core->payload, size);
	write_in_turn(d, share, &packed, events);
}

static bool grow(void **array, size_t *room, size_t wanted, size_t size)
{
	void *grown;

	if (wanted <= *room)
		return true;
	grown = realloc(*array, wanted * 2 * size);
	if (!grown)
		return false;
	*array = grown;
	*room = wanted * 2;
	return true;
}

unsigned drain_cores_used(const struct drain_cores *d)
{
	return d->most;
}

bool drain_cores_add(struct drain_cores *d, uint32_t ring, uint64_t from, uint64_t to)
{
	if (!grow((void **)&d->stretches, &d->stretch_room, d->stretch_count + 1,
		  sizeof(*d->stretches)))
		return false;
	d->stretches[d->stretch_count++] = (struct stretch){ ring, from, to, d->total };
	d->total += to - from;
	return true;
}

void drain_cores_begin(struct drain_cores *d)
{
	d->stretch_count = 0;
	d->total = 0;
}

bool drain_cores_pass(struct drain_cores *d, uint64_t horizon_before, uint64_t horizon)
{
	uint64_t began_ns = now_ns(), size = d->total / (d->count * SHARES_PER_CORE);
	unsigned helped;

	size = MAX(size, SHARE_MIN);
	d->share_size = MIN(size, CODEC_CHUNK_EVENTS);
	d->share_count = (d->total + d->share_size - 1) / d->share_size;
	if (!grow((void **)&d->shares, &d->share_room, d->share_count, sizeof(*d->shares)))
		return false;
	for (size_t i = 0; i < d->share_count; i++)
		d->shares[i] = (struct share){ 0 };
	d->horizon_before = horizon_before;
	d->horizon = horizon;
	d->released = d->written = 0;
	d->helped = 0;
	parallel_for(d->share_count, 1, work_on_share, d);
	helped = (unsigned)__builtin_popcountll(d->helped);
	d->most = MAX(d->most, helped);
	log_line(LOG_DEBUG, "a pass on %u cores: %" PRIu64 " events in %zu chunks, %" PRIu64 " us",
		 helped, d->total, d->share_count, (now_ns() - began_ns) / 1000);
	return true;
}
