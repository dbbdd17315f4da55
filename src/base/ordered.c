/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ordered loop.  See ordered.h.
 *
 * Blocks are begun in order, so a thread that waits for its turn waits for blocks that others are
 * at work on already: somebody can always go on. */
#include "base/ordered.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct ordered {
	parallel_work make;
	ordered_take take;
	void *context;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	uint64_t next; /* the first of the block whose turn it is; under the lock */
	_Atomic int error;
};

static void work(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct ordered *o = context;
	int error = atomic_load_explicit(&o->error, memory_order_relaxed);

	if (!error)
		o->make(o->context, worker, first, count);
	pthread_mutex_lock(&o->lock);
	while (o->next != first)
		pthread_cond_wait(&o->turned, &o->lock);
	pthread_mutex_unlock(&o->lock);
	/* One that failed while this was made comes before it. */
	error = atomic_load_explicit(&o->error, memory_order_relaxed);
	if (!error) {
		error = o->take(o->context, worker, first, count);
		atomic_store_explicit(&o->error, error, memory_order_relaxed);
	}
	pthread_mutex_lock(&o->lock);
	o->next = first + count;
	pthread_cond_broadcast(&o->turned);
	pthread_mutex_unlock(&o->lock);
}

static int run_alone(uint64_t total, uint64_t block, parallel_work make, ordered_take take,
		     void *context)
{
	int error = 0;

	for (uint64_t first = 0, count; first < total && !error; first += count) {
		count = total - first < block ? total - first : block;
		make(context, 0, first, count);
		error = take(context, 0, first, count);
	}
	return error;
}

int ordered_for(uint64_t total, uint64_t block, bool alone, parallel_work make, ordered_take take,
		void *context)
{
	struct ordered o = { .make = make, .take = take, .context = context };

	if (alone)
		return run_alone(total, block, make, take, context);
	pthread_mutex_init(&o.lock, NULL);
	pthread_cond_init(&o.turned, NULL);
	parallel_for(total, block, work, &o);
	pthread_cond_destroy(&o.turned);
	pthread_mutex_destroy(&o.lock);
	return !o.error && parallel_is_cut() ? -ECANCELED : o.error;
}
