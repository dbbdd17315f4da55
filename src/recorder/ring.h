/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Writing to the thread's ring.
 *
 * One writer, but one that signal handlers interrupt: a slot is taken with a single instruction, so
 * a handler that records in the middle of a hook takes the next one.  While `open` is not 0 some
 * slot below the reserved position may be unwritten: only the writer that sees 0 publishes, and
 * looks again afterwards for what a handler wrote in between. */
#include "recorder/rt.h"

#define RING_MARGIN 16 /* slots left for handlers between the check for room and the taking */

static inline bool ring_has_room(struct rt_thread *t)
{
	return likely(t->reserved - t->head + RING_MARGIN <= t->mask) || ring_make_room(t);
}

/* Whole, also where a word has 32 bits: a handler may come between two halves. */
static inline uint64_t ring_reserved(struct rt_thread *t)
{
#if __SIZEOF_POINTER__ < 8
	return __atomic_load_n(&t->reserved, __ATOMIC_RELAXED);
#else
	return *(volatile uint64_t *)&t->reserved;
#endif
}

/* Writes one event; ring_has_room() came before. */
static inline void ring_put(struct rt_thread *t, uint64_t stamp, uint64_t word1, uint64_t word2,
			    uint64_t word3)
{
	uint32_t outer = *(volatile uint32_t *)&t->open;
	struct event *e;

	*(volatile uint32_t *)&t->open = outer + 1;
	atomic_signal_fence(memory_order_seq_cst);
	e = &t->events[arch_reserve(&t->reserved, 1) & t->mask];
	e->stamp = stamp;
	e->word1 = word1;
	e->word2 = word2;
	e->word3 = word3;
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(outer)) {
		*(volatile uint32_t *)&t->open = outer;
		return;
	}
	for (;;) {
		uint64_t position = ring_reserved(t);

		atomic_store_explicit(&t->ring->tail, position, memory_order_release);
		atomic_signal_fence(memory_order_seq_cst);
		*(volatile uint32_t *)&t->open = 0;
		atomic_signal_fence(memory_order_seq_cst);
		if (likely(ring_reserved(t) == position)) {
			if (unlikely(!(position & t->notify_mask)))
				ring_notify(t);
			return;
		}
		*(volatile uint32_t *)&t->open = 1;
		atomic_signal_fence(memory_order_seq_cst);
	}
}
