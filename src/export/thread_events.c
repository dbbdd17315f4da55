/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events by thread.  See thread_events.h. */
#include "export/thread_events.h"

#include <string.h>

#include "base/xalloc.h"

void thread_events_init(struct thread_events *t, const struct view *v)
{
	const struct columns *c = &v->model->allocations;

	*t = (struct thread_events){
		.view = v,
		.thread_count = (uint32_t)v->model->tables.threads.count,
		.budget = THREAD_EVENTS_BUDGET,
	};
	t->counts = xcalloc((size_t)t->thread_count + 1, sizeof(*t->counts));
	t->starts = xcalloc((size_t)t->thread_count + 1, sizeof(*t->starts));
	VIEW_EACH(v, 0, c->count, row)
	{
		unsigned events = columns_freed_at(c, row) == NEVER ? 1 : 2;

		if (!columns_size(c, row))
			continue;
		t->counts[tags_thread(columns_tags(c, row))] += events;
		t->total += events;
	}
}

void thread_events_release(struct thread_events *t)
{
	free(t->counts);
	free(t->starts);
	scratch_release(&t->memory);
	memset(t, 0, sizeof(*t));
}

/* The events of as many threads from this one on as fit. */
static void make_list(struct thread_events *t, uint32_t thread)
{
	struct event_iterator all = event_iterator_between(t->view->model, 0, NEVER);
	uint64_t size = 0;

	t->listed_from = t->listed_to = thread;
	while (t->listed_to < t->thread_count && size + t->counts[t->listed_to] <= t->budget) {
		t->starts[t->listed_to] = size;
		size += t->counts[t->listed_to++];
	}
	if (t->listed_to == thread)
		return;
	if (!t->list)
		t->list = scratch_resize(&t->memory,
					 (t->total < t->budget ? t->total + 1 : t->budget) *
						 sizeof(*t->list));
	while (size && event_iterator_next(&all)) {
		uint32_t owner = tags_thread(columns_tags(all.c, all.row));

		if (owner - t->listed_from >= t->listed_to - t->listed_from ||
		    !thread_events_has(t->view, all.row))
			continue;
		t->list[t->starts[owner]++] = all.row | (uint32_t)all.is_free << 31;
	}
	for (uint32_t i = t->listed_from; i < t->listed_to; i++)
		t->starts[i] -= t->counts[i];
}

struct thread_walk thread_events_walk(struct thread_events *t, uint32_t thread)
{
	struct thread_walk w = { .view = t->view, .thread = thread, .listed = true };

	if (!t->counts[thread])
		return w;
	if (thread < t->listed_from || thread >= t->listed_to)
		make_list(t, thread);
	if (thread < t->listed_to) {
		w.next = t->list + t->starts[thread];
		w.end = w.next + t->counts[thread];
	} else {
		w.listed = false;
		w.all = event_iterator_between(t->view->model, 0, NEVER);
	}
	return w;
}
