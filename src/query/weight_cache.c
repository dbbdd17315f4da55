/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cache of weights.  See weight_cache.h. */
#include "query/weight_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"

struct row {
	struct measuring how;
	bool by_thread;
	bool making;
	struct stack_weights weights; /* when it is made */
	uint64_t used;		      /* when, in turns; 0: the row is free */
};

struct weight_cache {
	pthread_mutex_t lock;
	pthread_cond_t made;
	struct row rows[WEIGHT_CACHE_COUNT];
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

struct weight_cache *weight_cache_new(void)
{
	struct weight_cache *cache = xcalloc(1, sizeof(*cache));

	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->made, NULL);
	return cache;
}

struct weight_cache *weight_cache_free(struct weight_cache *cache)
{
	if (!cache)
		return NULL;
	for (unsigned i = 0; i < WEIGHT_CACHE_COUNT; i++)
		stack_weights_release(&cache->rows[i].weights);
	pthread_mutex_destroy(&cache->lock);
	pthread_cond_destroy(&cache->made);
	free(cache);
	return NULL;
}

static struct row *weight_cache_find(struct weight_cache *cache, const struct measuring *how,
				     bool by_thread)
{
	for (struct row *r = cache->rows; r < cache->rows + WEIGHT_CACHE_COUNT; r++)
		if (r->used && r->how.measure == how->measure && r->how.at == how->at &&
		    r->by_thread == by_thread)
			return r;
	return NULL;
}

static void weight_cache_forget(struct weight_cache *cache, struct row *r)
{
	cache->bytes -= cost(&r->weights);
	stack_weights_release(&r->weights);
	*r = (struct row){ 0 };
}

/* A free row, else the one that was not used for longest; NULL: all are being made. */
static struct row *row_for_new_weights(struct weight_cache *cache)
{
	struct row *best = NULL;

	for (struct row *r = cache->rows; r < cache->rows + WEIGHT_CACHE_COUNT; r++)
		if (!r->making && (!best || r->used < best->used))
			best = r;
	return best;
}

/* Of the rows that have weights, and so bytes to give back, the one that was not used for longest;
 * NULL: none has any. */
static struct row *oldest_with_weights(struct weight_cache *cache)
{
	struct row *best = NULL;

	for (struct row *r = cache->rows; r < cache->rows + WEIGHT_CACHE_COUNT; r++)
		if (r->weights.rows && (!best || r->used < best->used))
			best = r;
	return best;
}

/* With the lock held: what was made is kept as far as there is room, and if it is all there. */
static void weight_cache_keep(struct weight_cache *cache, struct row *r,
			      const struct stack_weights *w)
{
	struct row *old;

	r->making = false;
	if (parallel_is_cut() || cost(w) > WEIGHT_CACHE_BYTES) {
		*r = (struct row){ 0 };
		return;
	}
	/* `r` has no weights yet, so each turn gives back what a row has. */
	while (cache->bytes + cost(w) > WEIGHT_CACHE_BYTES && (old = oldest_with_weights(cache)))
		weight_cache_forget(cache, old);
	r->weights = copy_of(w);
	cache->bytes += cost(w);
}

void weight_cache_get(struct weight_cache *cache, struct stack_weights *ret_weights,
		      const struct view *v, const struct measuring *how, bool by_thread,
		      void (*make)(struct stack_weights *ret_weights, const struct view *v,
				   const struct measuring *how, bool by_thread))
{
	struct row *r;

	pthread_mutex_lock(&cache->lock);
	while ((r = weight_cache_find(cache, how, by_thread)) && r->making)
		pthread_cond_wait(&cache->made, &cache->lock);
	if (r) {
		r->used = ++cache->turn;
		*ret_weights = copy_of(&r->weights);
		pthread_mutex_unlock(&cache->lock);
		return;
	}
	r = row_for_new_weights(cache);
	if (r) {
		weight_cache_forget(cache, r);
		*r = (struct row){
			.how = *how, .by_thread = by_thread, .making = true, .used = ++cache->turn
		};
	}
	pthread_mutex_unlock(&cache->lock);
	make(ret_weights, v, how, by_thread);
	if (!r)
		return;
	pthread_mutex_lock(&cache->lock);
	weight_cache_keep(cache, r, ret_weights);
	pthread_cond_broadcast(&cache->made);
	pthread_mutex_unlock(&cache->lock);
}
