/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The last few filters of a snapshot, applied: the cards of a page all ask with the same one.
 *
 * A view is made once however many ask for it at the same time.  Where nobody waits any more for
 * what its maker computes, half a view is left: that is given to nobody, and the next of those who
 * wait for it makes it anew (base/parallel.h).  Any thread. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "query/view.h"

#define VIEWS_KEPT 12

struct held_view {
	char *text; /* the filter as an expression: the key */
	struct filter *filter;
	struct view *view; /* NULL while it is being made, and where that failed */
	struct err err;
	bool making;
	bool cut; /* half a view: its maker was given up */
	unsigned users;
	uint64_t used; /* when, in turns */
};

struct views {
	pthread_mutex_t lock;
	pthread_cond_t made;
	struct held_view *rows[VIEWS_KEPT];
	size_t count;
	uint64_t turn;
};

void views_init(struct views *v);
/* Nobody may hold one any more. */
void views_release(struct views *v);
/* Takes the filter, which may be NULL.  NULL with err, also where the calling thread's loops are
 * cut short (parallel_is_cut()); else to be given back. */
struct held_view *views_take(struct views *v, const struct model *m, struct locations *p,
			     struct filter *f, struct err *err);
/* The same of a view that nobody else may have: takes both. */
struct held_view *views_hold(struct view *view, struct filter *f);
void views_give(struct views *v, struct held_view *held);
