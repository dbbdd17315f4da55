/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The merge.  See merge.h.  A heap of the rings' first events; the ring at its top is followed for
 * as long as no other has an older one, so a thread that works alone costs no comparisons. */
#include "pairing/merge.h"

#include <stdbool.h>
#include <string.h>

#include "base/xalloc.h"

void merge_init(struct merge *m, struct pair *pair)
{
	memset(m, 0, sizeof(*m));
	m->pair = pair;
}

void merge_release(struct merge *m)
{
	for (size_t i = 0; i < m->ring_count; i++) {
		free(m->rings[i].spans);
		free(m->rings[i].held);
	}
	free(m->rings);
	free(m->active);
	free(m->heap);
	memset(m, 0, sizeof(*m));
}

void merge_add(struct merge *m, uint32_t ring, const struct event *events, uint32_t n)
{
	struct merge_ring *r;

	if (!n)
		return;
	if (ring >= m->ring_count) {
		size_t count = ring + 16;

		m->rings = xreallocarray(m->rings, count, sizeof(*m->rings));
		memset(m->rings + m->ring_count, 0, (count - m->ring_count) * sizeof(*m->rings));
		m->ring_count = count;
	}
	r = &m->rings[ring];
	if (!r->span_count) {
		*xpush(m->active, m->active_count, m->active_room) = ring;
	}
	*xpush(r->spans, r->span_count, r->span_room) = (struct merge_span){ events, events + n };
}

static void flush(struct merge *m)
{
	pair_events(m->pair, m->batch, m->batch_count);
	m->batch_count = 0;
}

static void sift_down(struct merge_head *heap, size_t count, size_t i)
{
	struct merge_head moved = heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && heap[child + 1].stamp < heap[child].stamp)
			child++;
		if (heap[child].stamp >= moved.stamp)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Hands on from one ring what is stamped before `limit`; false when the ring is used up. */
static bool follow(struct merge *m, uint32_t ring, uint64_t limit, bool all)
{
	struct merge_ring *r = &m->rings[ring];

	while (r->span < r->span_count) {
		struct merge_span *s = &r->spans[r->span];
		const struct event *e = s->next, *end = s->end;

		while (e < end && (all || e->stamp < limit)) {
			size_t n = m->batch_count, stop = n + (size_t)(end - e);

			if (stop > MERGE_BATCH)
				stop = MERGE_BATCH;
			for (; n < stop && (all || e->stamp < limit); n++, e++)
				m->batch[n] = (struct pair_item){ e, ring };
			m->batch_count = n;
			if (n == MERGE_BATCH)
				flush(m);
		}
		s->next = e;
		if (e < end)
			return true;
		r->span++;
	}
	return false;
}

/* The oldest event that is not at the top. */
static uint64_t second_stamp(const struct merge_head *heap, size_t count)
{
	if (count < 2)
		return UINT64_MAX;
	return count > 2 && heap[2].stamp < heap[1].stamp ? heap[2].stamp : heap[1].stamp;
}

static void hand_on(struct merge *m, uint64_t horizon, bool all)
{
	size_t count = 0;

	if (m->heap_room < m->active_count) {
		m->heap_room = m->active_count * 2;
		m->heap = xreallocarray(m->heap, m->heap_room, sizeof(*m->heap));
	}
	for (size_t i = 0; i < m->active_count; i++) {
		const struct merge_span *s = m->rings[m->active[i]].spans;

		m->heap[count++] = (struct merge_head){ s->next->stamp, m->active[i] };
	}
	for (size_t i = count / 2; i-- > 0;)
		sift_down(m->heap, count, i);
	while (count && (all || m->heap[0].stamp < horizon)) {
		struct merge_head *top = &m->heap[0];
		uint64_t second = second_stamp(m->heap, count);
		uint64_t limit = second < horizon ? second + 1 : horizon;
		struct merge_ring *r = &m->rings[top->ring];

		/* The largest stamp of all is before no limit. */
		if (follow(m, top->ring, limit, all && second == UINT64_MAX))
			top->stamp = r->spans[r->span].next->stamp;
		else
			*top = m->heap[--count];
		sift_down(m->heap, count, 0);
	}
	flush(m);
}

static void age(struct merge_ring *r, size_t consumed, size_t left, bool moved)
{
	for (unsigned i = 0; i < 2; i++)
		r->aged[i] -= consumed < r->aged[i] ? consumed : r->aged[i];
	if (moved) {
		r->aged[1] = r->aged[0];
		r->aged[0] = left;
	}
}

/* Copies what a ring has left to its own memory, since the chunk's will be used again.  `moved`:
 * the horizon did. */
static void hold_rest(struct merge_ring *r, bool moved)
{
	size_t left = 0, done = 0, consumed = r->held_count;
	struct event *to = r->held;

	if (r->held_count && r->span == 0)
		consumed -= (size_t)(r->spans[0].end - r->spans[0].next);

	for (uint32_t i = r->span; i < r->span_count; i++)
		left += (size_t)(r->spans[i].end - r->spans[i].next);
	if (left > r->held_room) {
		r->held_room = left * 2;
		to = xreallocarray(NULL, r->held_room, sizeof(*to));
	}
	for (uint32_t i = r->span; i < r->span_count; i++) {
		size_t n = (size_t)(r->spans[i].end - r->spans[i].next);

		if (to + done != r->spans[i].next)
			memmove(to + done, r->spans[i].next, n * sizeof(*to));
		done += n;
	}
	if (to != r->held) {
		free(r->held);
		r->held = to;
	}
	r->held_count = left;
	age(r, consumed, left, moved);
	r->span = 0;
	r->span_count = left ? 1 : 0;
	if (left)
		r->spans[0] = (struct merge_span){ to, to + left };
}

static void keep_rest(struct merge *m, bool moved)
{
	size_t still = 0;

	for (size_t i = 0; i < m->active_count; i++) {
		struct merge_ring *r = &m->rings[m->active[i]];

		hold_rest(r, moved);
		if (r->span_count)
			m->active[still++] = m->active[i];
	}
	m->active_count = still;
}

static void let_go(struct merge_ring *r, uint64_t horizon)
{
	for (size_t i = 0; i < r->aged[1]; i++)
		if (r->held[i].stamp >= horizon)
			r->held[i].stamp = horizon - 1;
}

void merge_run(struct merge *m, uint64_t horizon)
{
	bool moved = horizon > m->horizon;

	if (moved) {
		m->horizon = horizon;
		for (size_t i = 0; i < m->active_count; i++)
			let_go(&m->rings[m->active[i]], horizon);
	}
	hand_on(m, horizon, false);
	keep_rest(m, moved);
}

void merge_finish(struct merge *m)
{
	hand_on(m, UINT64_MAX, true);
	keep_rest(m, false);
}
