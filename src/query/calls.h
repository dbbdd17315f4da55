/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a program called, in order: the rows of a view as allocations, reallocs and frees.
 *
 *	struct calls t = calls_of(view);
 *	struct call c;
 *	while (calls_next(&t, &c))
 *		… c.kind, c.row, c.old, c.at …
 *
 * A realloc ends one row and begins another; it is one call where the view has both, and the half
 * that is left of it where it has one.  So every block is allocated once, is what the last call on
 * it made, and is freed once or never, whatever the filter.
 *
 * Any thread; an iterator is its caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "query/event_iterator.h"
#include "query/view.h"

enum calls_kind { CALLS_ALLOC, CALLS_FREE, CALLS_REALLOC };

struct call {
	enum calls_kind kind;
	uint32_t row; /* that begins, or is freed */
	uint32_t old; /* CALLS_REALLOC: that it was made of */
	uint64_t at;
};

struct calls {
	const struct view *view;
	struct event_iterator events;
};

/* Those with from <= stamp < to: both halves of a realloc have one stamp. */
static inline struct calls calls_between(const struct view *v, uint64_t from, uint64_t to)
{
	struct calls t = { .view = v, .events = event_iterator_between(v->model, from, to) };

	return t;
}

static inline struct calls calls_of(const struct view *v)
{
	return calls_between(v, 0, NEVER);
}

/* Frees are all over the columns: what is asked of them here, as event_iterator_next() does. */
static inline void calls_look_ahead(const struct event_iterator *t)
{
	if (t->freed + EVENT_ITERATOR_AHEAD < t->freed_to) {
		uint32_t later = t->free_order[t->freed + EVENT_ITERATOR_AHEAD];

		columns_prefetch_tags(t->c, later);
		columns_prefetch_free_stack(t->c, later);
	}
}

/* Is there a block that realloc made this one of? */
static inline bool calls_has_old(const struct view *v, uint32_t row)
{
	const struct columns *c = &v->model->allocations;
	uint32_t old = columns_previous(c, row);

	return old != NO_ALLOCATION && view_has(v, old) &&
	       tags_flags(columns_tags(c, old)) & TAG_REALLOCATED &&
	       columns_freed_at(c, old) == columns_allocated_at(c, row);
}

/* The end of a row: is it told of with the beginning of what it became?  That is next in time. */
static inline bool calls_goes_on(const struct calls *t, uint32_t row)
{
	const struct columns *c = &t->view->model->allocations;
	uint32_t next = t->events.start;

	return tags_flags(columns_tags(c, row)) & TAG_REALLOCATED && next < t->events.start_to &&
	       columns_previous(c, next) == row && view_has(t->view, next) &&
	       calls_has_old(t->view, next);
}

static inline bool calls_next(struct calls *t, struct call *ret_call)
{
	const struct columns *c = &t->view->model->allocations;

	while (event_iterator_next(&t->events)) {
		uint32_t row = t->events.row;

		if (t->events.is_free)
			calls_look_ahead(&t->events);
		if (!view_has(t->view, row) || (t->events.is_free && calls_goes_on(t, row)))
			continue;
		ret_call->row = row;
		ret_call->old = NO_ALLOCATION;
		ret_call->at = t->events.at;
		if (t->events.is_free) {
			ret_call->kind = CALLS_FREE;
		} else if (calls_has_old(t->view, row)) {
			ret_call->kind = CALLS_REALLOC;
			ret_call->old = columns_previous(c, row);
		} else {
			ret_call->kind = CALLS_ALLOC;
		}
		return true;
	}
	return false;
}
