/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The events of a view thread by thread, each thread's in order of time, as often as wanted.
 *
 *	thread_events_init(&t, v);
 *	for (uint32_t thread = 0; thread < t.thread_count; thread++) {
 *		struct thread_walk w = thread_events_walk(&t, thread);
 *		while (thread_walk_next(&w))
 *			… w.row, w.is_free …
 *	}
 *
 * Blocks of no bytes are left out.  An allocation and its end belong to the thread that allocated,
 * whoever freed it: what is in balance as a whole is so in each thread.  Memory does not grow with
 * events: a list of as many threads as fit into a budget is made at a time, in a file when it is
 * large (scratch.h), and a thread that is too large for it is picked out of all events at every
 * walk.  One thread: the exporter's. */
#include <stdbool.h>
#include <stdint.h>

#include "query/event_iterator.h"
#include "query/view.h"

#define THREAD_EVENTS_BUDGET (8u << 20) /* events in the list, 4 bytes each */

struct thread_events {
	const struct view *view;
	uint64_t *counts; /* of events, by thread */
	uint32_t thread_count;
	uint64_t total;
	uint32_t *list;	       /* row : 31, is an end : 1 */
	struct scratch memory; /* that it is in */
	uint64_t *starts;
	uint32_t listed_from, listed_to; /* threads */
	uint64_t budget;
};

struct thread_walk {
	const struct view *view;
	const uint32_t *next, *end; /* in the list */
	struct event_iterator all;  /* without one */
	uint32_t thread;
	bool listed;
	uint32_t row;
	bool is_free;
};

static inline bool thread_events_has(const struct view *v, uint32_t row)
{
	return view_has(v, row) && columns_size(&v->model->allocations, row);
}

void thread_events_init(struct thread_events *t, const struct view *v);
void thread_events_release(struct thread_events *t);
/* Cheapest when threads are asked for in their order.  Good until another thread is asked for. */
struct thread_walk thread_events_walk(struct thread_events *t, uint32_t thread);

static inline bool thread_walk_next(struct thread_walk *w)
{
	if (w->listed) {
		if (w->next == w->end)
			return false;
		w->row = *w->next & 0x7fffffffu;
		w->is_free = *w->next++ >> 31;
		return true;
	}
	while (event_iterator_next(&w->all)) {
		w->row = w->all.row;
		w->is_free = w->all.is_free;
		if (tags_thread(columns_tags(w->all.c, w->row)) == w->thread &&
		    thread_events_has(w->view, w->row))
			return true;
	}
	return false;
}
