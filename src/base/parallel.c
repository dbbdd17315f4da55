/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pool.  See parallel.h.
 *
 * A job lives on its caller's stack and is in a list while it has blocks that nobody has begun.  A
 * pool thread joins it under the lock (`helpers`), takes blocks with an atomic counter, and leaves
 * under the lock; the caller takes the job out of the list and waits for the helpers to leave.
 * Pool thread k is worker k in whatever job it helps, and a caller is worker 0 of its own. */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define WORKERS_MAX 256

struct job {
	parallel_work work;
	void *context;
	uint64_t total, block;
	_Atomic uint64_t next;
	unsigned helpers; /* under the lock */
	bool quiet;
	struct parallel_progress *progress; /* NULL: nobody wants to know */
	const atomic_bool *given_up;	    /* NULL: it goes to its end */
	struct job *after;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t jobs_changed, helper_left;
	struct job *jobs;	 /* oldest first, quiet ones last */
	_Atomic unsigned urgent; /* jobs that are not quiet */
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.jobs_changed = PTHREAD_COND_INITIALIZER,
	.helper_left = PTHREAD_COND_INITIALIZER,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned workers;
static _Thread_local bool inside, quiet;
static _Thread_local struct parallel_progress *report;
static _Thread_local const atomic_bool *stop_when;
static _Thread_local unsigned whole; /* how many wanted loops to go to their end */

static unsigned count_workers(void)
{
	const char *text = getenv("MEMOIR_THREADS");
	cpu_set_t set;
	long wanted = 0;
	int cores = 1;

	if (text)
		wanted = strtol(text, NULL, 10);
	if (wanted > 0)
		return wanted < WORKERS_MAX ? (unsigned)wanted : WORKERS_MAX;
	if (!sched_getaffinity(0, sizeof(set), &set))
		cores = CPU_COUNT(&set);
	return cores < 1 ? 1 : cores < WORKERS_MAX ? (unsigned)cores : WORKERS_MAX;
}

static void count_done(struct parallel_progress *p, uint64_t count)
{
	if (p)
		atomic_fetch_add_explicit(&p->done, count, memory_order_relaxed);
}

static bool is_set(const atomic_bool *given_up)
{
	return given_up && atomic_load_explicit(given_up, memory_order_relaxed);
}

/* A block goes to its end with whatever it calls. */
static void run_block(const struct job *j, unsigned worker, uint64_t first)
{
	uint64_t left = j->total - first, count = left < j->block ? left : j->block;

	whole++;
	j->work(j->context, worker, first, count);
	whole--;
	count_done(j->progress, count);
}

/* A helper leaves a quiet job as soon as there is another one: false, there are blocks left.
 *
 * The flag is looked at before a block is taken, never after: so what is taken is run, and what is
 * not run lies behind all that is.  Who sees it set leaves the job under the lock, which the caller
 * takes after that: so the caller's next loop sees it set, too. */
static bool run_blocks(struct job *j, unsigned worker)
{
	bool done = true;

	inside = true;
	for (;;) {
		uint64_t first;

		if (is_set(j->given_up))
			break;
		if (worker && j->quiet &&
		    atomic_load_explicit(&pool.urgent, memory_order_relaxed)) {
			done = false;
			break;
		}
		first = atomic_fetch_add_explicit(&j->next, j->block, memory_order_relaxed);
		if (first >= j->total)
			break;
		run_block(j, worker, first);
	}
	inside = false;
	return done;
}

/* Takes the job out of the list; somebody else may have done so before. */
static void unlist(struct job *j)
{
	for (struct job **p = &pool.jobs; *p; p = &(*p)->after)
		if (*p == j) {
			*p = j->after;
			pool.urgent -= !j->quiet;
			return;
		}
}

static void *pool_thread(void *context)
{
	unsigned worker = (unsigned)(uintptr_t)context;

	pthread_mutex_lock(&pool.lock);
	for (;;) {
		struct job *j = pool.jobs;
		bool done;

		if (!j) {
			pthread_cond_wait(&pool.jobs_changed, &pool.lock);
			continue;
		}
		j->helpers++;
		pthread_mutex_unlock(&pool.lock);
		done = run_blocks(j, worker);
		pthread_mutex_lock(&pool.lock);
		if (done)
			unlist(j);
		if (!--j->helpers)
			pthread_cond_broadcast(&pool.helper_left);
	}
	return NULL;
}

/* The pool's threads are not in a child; it works alone. */
static void forget_pool(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pthread_cond_init(&pool.jobs_changed, NULL);
	pthread_cond_init(&pool.helper_left, NULL);
	pool.jobs = NULL;
	pool.urgent = 0;
}

static void make_pool(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;

	workers = count_workers();
	pthread_atfork(NULL, NULL, forget_pool);
	/* Signals are for the threads that the rest of the program knows. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 1; i < workers; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, pool_thread, (void *)(uintptr_t)i))
			break;
	}
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

unsigned parallel_workers(void)
{
	pthread_once(&once, make_pool);
	return workers;
}

static void run_alone(const struct job *j)
{
	for (uint64_t first = 0; first < j->total && !is_set(j->given_up);) {
		run_block(j, 0, first);
		first = j->total - first < j->block ? j->total : first + j->block;
	}
}

void parallel_report(struct parallel_progress *p)
{
	report = p;
}

/* Where the calling thread's job is counted: not one inside another, nor a small one. */
static struct parallel_progress *begin_pass(uint64_t total, uint64_t block)
{
	if (!report || inside || total <= block)
		return NULL;
	atomic_store_explicit(&report->done, 0, memory_order_relaxed);
	atomic_store_explicit(&report->total, total, memory_order_relaxed);
	atomic_fetch_add_explicit(&report->passes, 1, memory_order_relaxed);
	return report;
}

void parallel_quietly(void)
{
	quiet = true;
}

void parallel_stop_when(const atomic_bool *given_up)
{
	stop_when = given_up;
}

bool parallel_is_cut(void)
{
	return !whole && is_set(stop_when);
}

unsigned parallel_whole_begin(void)
{
	return whole++;
}

void parallel_whole_end(const unsigned *before)
{
	whole = *before;
}

void parallel_for(uint64_t total, uint64_t block, parallel_work work, void *context)
{
	struct job j = { .work = work, .context = context, .total = total, .quiet = quiet };
	struct job **end = &pool.jobs;

	j.block = block ? block : 1;
	j.progress = begin_pass(total, j.block);
	j.given_up = whole ? NULL : stop_when;
	if (parallel_workers() == 1 || inside || total <= j.block) {
		run_alone(&j);
		return;
	}
	/* The counter runs past the end by a block for each worker. */
	if (total > UINT64_MAX - j.block * (workers + 1ull))
		abort();
	pthread_mutex_lock(&pool.lock);
	while (*end && (quiet || !(*end)->quiet))
		end = &(*end)->after;
	j.after = *end;
	*end = &j;
	pool.urgent += !quiet;
	pthread_cond_broadcast(&pool.jobs_changed);
	pthread_mutex_unlock(&pool.lock);
	run_blocks(&j, 0);
	pthread_mutex_lock(&pool.lock);
	unlist(&j);
	while (j.helpers)
		pthread_cond_wait(&pool.helper_left, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}
