/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Weights that are kept.  See weighed.h. */
#include "query/weighed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct row {
	struct measuring how;
	bool by_thread;
	bool making;
	struct stack_weights weights; /* when it is made */
	uint64_t used;		      /* when, in turns; 0: the row is free */
};

struct weighed {
	pthread_mutex_t lock;
	pthread_cond_t made;
	struct row rows[WEIGHED_KEPT];
	size_t bytes;
	uint64_t turn;
};

static size_t cost(const struct stack_weights *w)
{
	return w->count * sizeof(*w->rows);
}

static struct stack_weights copy_of(const struct stack_weights *w)
{
	struct stack_weights copy = *w;

	copy.rows = (void *)xmemdup0(w->rows, cost(w));
	return copy;
}

struct weighed *weighed_new(void)
{
	struct weighed *k = xcalloc(1, sizeof(*k));

	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->made, NULL);
	return k;
}

struct weighed *weighed_free(struct weighed *k)
{
	if (!k)
		return NULL;
	for (unsigned i = 0; i < WEIGHED_KEPT; i++)
		stack_weights_release(&k->rows[i].weights);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->made);
	free(k);
	return NULL;
}

static struct row *find(struct weighed *k, const struct measuring *how, bool by_thread)
{
	for (struct row *r = k->rows; r < k->rows + WEIGHED_KEPT; r++)
		if (r->used && r->how.measure == how->measure && r->how.at == how->at &&
		    r->by_thread == by_thread)
			return r;
	return NULL;
}

static void forget(struct weighed *k, struct row *r)
{
	k->bytes -= cost(&r->weights);
	stack_weights_release(&r->weights);
	*r = (struct row){ 0 };
}

/* A free row, else the one that was not used for longest; NULL: all are being made. */
static struct row *row_for_new_weights(struct weighed *k)
{
	struct row *best = NULL;

	for (struct row *r = k->rows; r < k->rows + WEIGHED_KEPT; r++)
		if (!r->making && (!best || r->used < best->used))
			best = r;
	return best;
}

/* Of the rows that have weights, and so bytes to give back, the one that was not used for longest;
 * NULL: none has any. */
static struct row *oldest_with_weights(struct weighed *k)
{
	struct row *best = NULL;

	for (struct row *r = k->rows; r < k->rows + WEIGHED_KEPT; r++)
		if (r->weights.rows && (!best || r->used < best->used))
			best = r;
	return best;
}

/* With the lock held: what was made is kept as far as there is room. */
static void keep(struct weighed *k, struct row *r, const struct stack_weights *w)
{
	struct row *old;

	r->making = false;
	if (cost(w) > WEIGHED_BYTES) {
		*r = (struct row){ 0 };
		return;
	}
	/* `r` has no weights yet, so each turn gives back what a row has. */
	while (k->bytes + cost(w) > WEIGHED_BYTES && (old = oldest_with_weights(k)))
		forget(k, old);
	r->weights = copy_of(w);
	k->bytes += cost(w);
}

void weighed_take(struct weighed *k, struct stack_weights *ret_weights, const struct view *v,
		  const struct measuring *how, bool by_thread,
		  void (*make)(struct stack_weights *ret_weights, const struct view *v,
			       const struct measuring *how, bool by_thread))
{
	struct row *r;

	pthread_mutex_lock(&k->lock);
	while ((r = find(k, how, by_thread)) && r->making)
		pthread_cond_wait(&k->made, &k->lock);
	if (r) {
		r->used = ++k->turn;
		*ret_weights = copy_of(&r->weights);
		pthread_mutex_unlock(&k->lock);
		return;
	}
	r = row_for_new_weights(k);
	if (r) {
		forget(k, r);
		*r = (struct row){
			.how = *how, .by_thread = by_thread, .making = true, .used = ++k->turn
		};
	}
	pthread_mutex_unlock(&k->lock);
	make(ret_weights, v, how, by_thread);
	if (!r)
		return;
	pthread_mutex_lock(&k->lock);
	keep(k, r, ret_weights);
	pthread_cond_broadcast(&k->made);
	pthread_mutex_unlock(&k->lock);
}
