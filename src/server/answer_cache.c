/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cache of answers.  See answer_cache.h. */
#include "server/answer_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hold_lock.h"
#include "base/parallel.h"
#include "base/sink.h"
#include "base/timed_cond.h"
#include "base/xalloc.h"
#include "server/ending.h"

#define GZIP_FROM 1024 /* bytes */
#define WORKERS_MAX 64
#define OVERHEAD 4096 /* that an answer counts for besides its bytes */
#define QUIET_WORKERS 2
#define QUIET_NICE 10 /* they may hold what others wait for: never without any time */
/* Of one click a page asks several things, those that can wait perhaps first: they must not begin
 * to make what the others need too, with little of the processor.  But they do not wait for ever.
 */
#define GRACE_MS 20
#define PATIENCE_MS 500
#define PREFETCH_MAX 100 /* questions that nobody has asked yet */

struct idle_job {
	struct idle_job *next;
	void (*run)(void *context, bool idle);
	void *context;
};

struct answer_cache {
	pthread_mutex_t lock;
	pthread_cond_t work, quiet_work;
	struct cached_answer *first, *last; /* all of them */
	uint64_t bytes, limit;
	size_t waiting, computing; /* of those that cannot wait */
	size_t later, prefetched;  /* that wait, of those that can */
	size_t computing_later;	   /* of those, what somebody waits for */
	bool stopping, prefetching;
	struct idle_job *idle_jobs;
	struct gate *gate;
	pthread_t workers[WORKERS_MAX + QUIET_WORKERS];
	unsigned worker_count;
};

static uint64_t cost(const struct cached_answer *a)
{
	return a->body.room + OVERHEAD;
}

static void unlink_answer(struct answer_cache *cache, struct cached_answer *a)
{
	*(a->before ? &a->before->next : &cache->first) = a->next;
	*(a->next ? &a->next->before : &cache->last) = a->before;
	a->before = a->next = NULL;
}

static void put_first(struct answer_cache *cache, struct cached_answer *a)
{
	a->before = NULL;
	a->next = cache->first;
	*(cache->first ? &cache->first->before : &cache->last) = a;
	cache->first = a;
}

static void free_answer(struct cached_answer *a)
{
	request_release(&a->request);
	buf_release(&a->body);
	free(a->file_name);
	free(a->key);
	free(a);
}

/* With the lock held: takes out what nobody uses, oldest first, until the rest fits. */
static struct cached_answer *tidy(struct answer_cache *cache)
{
	struct cached_answer *gone = NULL, *a = cache->last, *before;

	for (; a && cache->bytes > cache->limit; a = before) {
		before = a->before;
		if (a->users || a->state != ANSWER_DONE)
			continue;
		unlink_answer(cache, a);
		cache->bytes -= cost(a);
		a->next = gone;
		gone = a;
	}
	return gone;
}

static void free_list(struct cached_answer *a)
{
	while (a) {
		struct cached_answer *next = a->next;

		free_answer(a);
		a = next;
	}
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct buf *body = context;

	if (body->size + size > ANSWER_MAX)
		return -EFBIG;
	buf_add(body, bytes, size);
	return 0;
}

/* What is written of an answer. */
struct writing {
	struct cached_answer *of;
	struct buf plain;
};

static int take_plain_bytes(void *context, const void *bytes, size_t size)
{
	struct writing *w = context;

	return w->of->given_up ? -ECANCELED : take_bytes(&w->plain, bytes, size);
}

/* The answer's bytes; compressed only if that is worth it. */
static void pack(struct cached_answer *a, struct buf *plain, bool gzip)
{
	struct sink sink;

	a->gzip = false;
	if (!gzip || plain->size < GZIP_FROM) {
		a->body = *plain;
		return;
	}
	sink_to_function(&sink, take_bytes, &a->body, SINK_GZIP);
	buf_add(&sink.buf, plain->data, plain->size);
	a->gzip = !sink_finish(&sink, NULL);
	if (a->gzip) {
		buf_release(plain);
		return;
	}
	buf_release(&a->body);
	a->body = *plain;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Has the route write its answer: 0, or -errno. */
static int write_answer(struct cached_answer *a, struct buf *ret_plain)
{
	struct request *r = &a->request;
	struct writing w = { .of = a };
	struct sink sink;
	int error;

	if (a->given_up) /* it has waited for a place */
		return -ECANCELED;
	sink_to_function(&sink, take_plain_bytes, &w, SINK_PLAIN);
	parallel_report(&a->progress);
	parallel_stop_when(&a->given_up);
	error = r->route->answer(r, &sink);
	parallel_stop_when(NULL);
	parallel_report(NULL);
	if (error && !sink.error)
		sink_cancel(&sink);
	else
		error = sink_finish(&sink, NULL);
	*ret_plain = w.plain;
	return error;
}

/* Of an answer that is given up nothing counts but that it is released. */
static void compute(struct answer_cache *cache, struct cached_answer *a, bool quiet)
{
	struct request *r = &a->request;
	struct buf plain = { 0 };
	double began;
	int error;

	if (!quiet)
		gate_enter(cache->gate);
	began = now_ms();
	error = write_answer(a, &plain);
	if (error == -EFBIG)
		ask_fail(&r->ask, 413, NULL, "the answer would be larger than %u MiB: ask for less",
			 ANSWER_MAX >> 20);
	else if (error && !r->ask.fault.status)
		ask_fail(&r->ask, 500, NULL, "%s", strerror(-error));
	a->fault = r->ask.fault;
	a->type = r->type ? r->type : r->route->type;
	a->foreign = r->foreign;
	a->file_name = r->file_name;
	r->file_name = NULL;
	if (a->fault.status || a->given_up)
		buf_release(&plain);
	else
		pack(a, &plain, a->gzip && !r->packed);
	request_release(r);
	a->took_ms = now_ms() - began;
	if (!quiet)
		gate_leave(cache->gate);
}

static void wake_all(struct cached_answer *a)
{
	while (a->waiters) {
		struct waiter *w = a->waiters;

		a->waiters = w->next;
		w->next = NULL;
		w->wake(w);
	}
}

/* With the lock held: the question that waits for longest, of one kind. */
static struct cached_answer *next_waiting(const struct answer_cache *cache, bool later,
					  bool prefetched)
{
	for (struct cached_answer *a = cache->last; a; a = a->before)
		if (a->state == ANSWER_WAITING && a->later == later && a->prefetched == prefetched)
			return a;
	return NULL;
}

/* With the lock held: what waits is counted by its kind. */
static size_t *counter_of(struct answer_cache *cache, const struct cached_answer *a)
{
	return a->prefetched ? &cache->prefetched : a->later ? &cache->later : &cache->waiting;
}

/* With the lock held: is there something to prefetch, and nobody who waits for an answer? */
static bool may_prefetch(const struct answer_cache *cache)
{
	return cache->prefetched && !cache->waiting && !cache->computing && !cache->later &&
	       !cache->computing_later;
}

/* With the lock held: is something to be done now that every answer is there? */
static bool has_idle_job(const struct answer_cache *cache)
{
	if (!cache->idle_jobs)
		return false;
	for (const struct cached_answer *a = cache->first; a; a = a->next)
		if (a->state != ANSWER_DONE)
			return false;
	return true;
}

/* Jobs may ask the cache. */
static void run_jobs(struct idle_job *jobs, bool idle)
{
	for (struct idle_job *next; jobs; jobs = next) {
		next = jobs->next;
		jobs->run(jobs->context, idle);
		free(jobs);
	}
}

/* With the lock held, which is given up meanwhile. */
static void run_idle_jobs(struct answer_cache *cache)
{
	struct idle_job *jobs = cache->idle_jobs;

	cache->idle_jobs = NULL;
	pthread_mutex_unlock(&cache->lock);
	run_jobs(jobs, true);
	pthread_mutex_lock(&cache->lock);
}

/* With the lock held. */
static void wake_workers(struct answer_cache *cache)
{
	if (cache->waiting)
		pthread_cond_signal(&cache->work);
	if (cache->later || may_prefetch(cache) || has_idle_job(cache))
		pthread_cond_broadcast(&cache->quiet_work);
}

/* With the lock held, which is given up meanwhile. */
static void answer_one(struct answer_cache *cache, struct cached_answer *a, bool quiet)
{
	struct cached_answer *gone = NULL;
	size_t *computing = !quiet	    ? &cache->computing
			    : a->prefetched ? NULL
					    : &cache->computing_later;

	--*counter_of(cache, a);
	a->state = ANSWER_COMPUTING;
	if (computing)
		++*computing;
	pthread_mutex_unlock(&cache->lock);
	compute(cache, a, quiet);
	pthread_mutex_lock(&cache->lock);
	if (computing)
		--*computing;
	a->state = ANSWER_DONE;
	cache->bytes += cost(a);
	wake_all(a);
	/* What is wrong now may be right later. */
	if (a->given_up || (a->fault.status && !a->users)) {
		unlink_answer(cache, a);
		cache->bytes -= cost(a);
		a->next = NULL;
		gone = a;
	} else {
		gone = tidy(cache);
	}
	wake_workers(cache);
	if (gone) {
		pthread_mutex_unlock(&cache->lock);
		free_list(gone);
		pthread_mutex_lock(&cache->lock);
	}
}

static void *worker(void *context)
{
	struct answer_cache *cache = context;

	hold_lock(&cache->lock);
	while (!cache->stopping) {
		if (cache->waiting)
			answer_one(cache, next_waiting(cache, false, false), false);
		else
			pthread_cond_wait(&cache->work, &cache->lock);
	}
	return NULL;
}

/* How long a question that can wait still does, in ms. */
static double time_left(const struct answer_cache *cache, const struct cached_answer *a)
{
	bool busy = cache->waiting || cache->computing;

	return a->asked_ms + (busy ? PATIENCE_MS : GRACE_MS) - now_ms();
}

/* For what can wait.  Only the first of them answers what nobody has asked: the other one is there
 * for those who ask with patience. */
static void *quiet_worker(void *context)
{
	struct answer_cache *cache = context;
	bool prefetches;

	if (setpriority(PRIO_PROCESS, (id_t)gettid(), QUIET_NICE) < 0)
		errno = 0; /* then it is as loud as the others */
	parallel_quietly();
	hold_lock(&cache->lock);
	prefetches = !cache->prefetching;
	cache->prefetching = true;
	while (!cache->stopping) {
		struct cached_answer *a = cache->later ? next_waiting(cache, true, false) : NULL;
		double left = a ? time_left(cache, a) : 0;

		if (a && left <= 0)
			answer_one(cache, a, true);
		else if (a)
			timed_cond_wait(&cache->quiet_work, &cache->lock,
					(uint64_t)((now_ms() + left) * 1e6));
		else if (prefetches && may_prefetch(cache))
			answer_one(cache, next_waiting(cache, true, true), true);
		else if (prefetches && has_idle_job(cache))
			run_idle_jobs(cache);
		else
			pthread_cond_wait(&cache->quiet_work, &cache->lock);
	}
	return NULL;
}

struct answer_cache *answer_cache_new(struct gate *gate, unsigned workers, uint64_t limit)
{
	struct answer_cache *cache = xcalloc(1, sizeof(*cache));

	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->work, NULL);
	timed_cond_init(&cache->quiet_work);
	cache->gate = gate;
	cache->limit = limit;
	workers = workers < WORKERS_MAX ? workers : WORKERS_MAX;
	for (unsigned i = 0; i < workers + QUIET_WORKERS; i++)
		if (!pthread_create(&cache->workers[cache->worker_count], NULL,
				    i < workers ? worker : quiet_worker, cache))
			cache->worker_count++;
	return cache;
}

bool answer_cache_stop(struct answer_cache *cache, const struct timespec *deadline)
{
	pthread_mutex_lock(&cache->lock);
	cache->stopping = true;
	pthread_cond_broadcast(&cache->work);
	pthread_cond_broadcast(&cache->quiet_work);
	for (struct cached_answer *a = cache->first; a; a = a->next)
		if (a->state == ANSWER_WAITING) {
			a->fault = (struct fault){ .status = 503, .position = -1, .progress = -1 };
			snprintf(a->fault.text, sizeof(a->fault.text), "the server ends");
			a->state = ANSWER_DONE;
			cache->bytes += cost(a);
			wake_all(a);
		}
	cache->waiting = cache->later = cache->prefetched = 0;
	pthread_mutex_unlock(&cache->lock);
	cache->worker_count = ending_join_all(cache->workers, cache->worker_count, deadline);
	if (!cache->worker_count)
		return true;
	hold_lock(&cache->lock);
	for (struct cached_answer *a = cache->first; a; a = a->next)
		wake_all(a);
	return false;
}

struct answer_cache *answer_cache_free(struct answer_cache *cache)
{
	if (!cache)
		return NULL;
	answer_cache_stop(cache, NULL);
	run_jobs(cache->idle_jobs, false);
	free_list(cache->first);
	pthread_mutex_destroy(&cache->lock);
	pthread_cond_destroy(&cache->work);
	pthread_cond_destroy(&cache->quiet_work);
	free(cache);
	return NULL;
}

static struct cached_answer *find_answer(const struct answer_cache *cache, const char *key)
{
	for (struct cached_answer *a = cache->first; a; a = a->next)
		if (!strcmp(a->key, key) && !a->given_up &&
		    !(a->state == ANSWER_DONE && a->fault.status))
			return a;
	return NULL;
}

/* With the lock held: a new question, of a kind that is not counted yet. */
static struct cached_answer *add_answer(struct answer_cache *cache, const char *key,
					struct request *r, bool gzip)
{
	struct cached_answer *a = xcalloc(1, sizeof(*a));

	a->key = xstrdup(key);
	a->asked_ms = now_ms();
	a->request = *r;
	a->gzip = gzip;
	*r = (struct request){ 0 };
	put_first(cache, a);
	return a;
}

struct cached_answer *answer_cache_ask(struct answer_cache *cache, const char *key,
				       struct request *r, bool gzip, bool patient, struct waiter *w)
{
	struct cached_answer *a;

	hold_lock(&cache->lock);
	a = find_answer(cache, key);
	if (cache->stopping ? !a || a->state != ANSWER_DONE
			    : !a && cache->waiting + cache->later >= ANSWER_QUEUE_MAX)
		return NULL;
	if (a) {
		unlink_answer(cache, a);
		put_first(cache, a);
		request_release(r);
	} else {
		a = add_answer(cache, key, r, gzip);
		a->later = a->prefetched = true;
		cache->prefetched++;
	}
	if (a->state == ANSWER_WAITING && (a->prefetched || !patient)) {
		--*counter_of(cache, a);
		a->prefetched = false;
		a->later = patient;
		++*counter_of(cache, a);
		wake_workers(cache);
	}
	a->users++;
	if (a->state != ANSWER_DONE) {
		w->next = a->waiters;
		a->waiters = w;
		w->sleep(w);
	}
	return a;
}

void answer_cache_prefetch(struct answer_cache *cache, const char *key, struct request *r,
			   bool gzip)
{
	pthread_mutex_lock(&cache->lock);
	if (!cache->stopping && cache->prefetched < PREFETCH_MAX && !find_answer(cache, key)) {
		struct cached_answer *a = add_answer(cache, key, r, gzip);

		a->later = a->prefetched = true;
		cache->prefetched++;
		wake_workers(cache);
	}
	pthread_mutex_unlock(&cache->lock);
	request_release(r);
}

void answer_cache_put(struct answer_cache *cache, const char *key, const void *body, size_t size,
		      bool gzip, const char *type)
{
	struct request none = { 0 };
	struct cached_answer *a;

	hold_lock(&cache->lock);
	if (!cache->stopping && !find_answer(cache, key)) {
		a = add_answer(cache, key, &none, gzip);
		a->state = ANSWER_DONE;
		a->fault = FAULT_NONE;
		a->type = type;
		buf_add(&a->body, body, size);
		cache->bytes += cost(a);
	}
}

struct cached_answer *answer_cache_find_done(struct answer_cache *cache, const char *key)
{
	struct cached_answer *a;

	hold_lock(&cache->lock);
	a = find_answer(cache, key);
	if (!a || a->state != ANSWER_DONE)
		return NULL;
	a->users++;
	return a;
}

void answer_cache_when_idle(struct answer_cache *cache, void (*run)(void *context, bool idle),
			    void *context)
{
	struct idle_job *job = xmalloc(sizeof(*job));

	hold_lock(&cache->lock);
	*job = (struct idle_job){ cache->idle_jobs, run, context };
	cache->idle_jobs = job;
	wake_workers(cache);
}

void answer_cache_release(struct answer_cache *cache, struct cached_answer *a, struct waiter *w)
{
	bool dropped;

	pthread_mutex_lock(&cache->lock);
	for (struct waiter **p = &a->waiters; *p; p = &(*p)->next)
		if (*p == w) {
			*p = w->next;
			break;
		}
	w->next = NULL;
	a->users--;
	/* What was begun without anybody who asked is wanted by nobody less now. */
	if (!a->users && a->state == ANSWER_COMPUTING && !a->prefetched)
		a->given_up = true;
	dropped = !a->users &&
		  (a->state == ANSWER_WAITING || (a->state == ANSWER_DONE && a->fault.status));
	if (dropped) {
		if (a->state == ANSWER_WAITING)
			--*counter_of(cache, a);
		unlink_answer(cache, a);
		cache->bytes -= a->state == ANSWER_DONE ? cost(a) : 0;
	}
	pthread_mutex_unlock(&cache->lock);
	if (dropped)
		free_answer(a);
}

bool answer_cache_is_done(struct answer_cache *cache, const struct cached_answer *a)
{
	hold_lock(&cache->lock);
	return a->state == ANSWER_DONE;
}

struct answer_cache_progress answer_cache_progress(struct answer_cache *cache, const char *key)
{
	struct answer_cache_progress p = { 0 };
	struct cached_answer *a;
	uint64_t total;

	hold_lock(&cache->lock);
	a = find_answer(cache, key);
	if (a && a->state != ANSWER_DONE) {
		total = a->progress.total;
		p = (struct answer_cache_progress){
			.asked = true,
			.computing = a->state == ANSWER_COMPUTING,
			.ms = now_ms() - a->asked_ms,
			.pass = a->progress.passes,
			.done = total ? (double)a->progress.done / (double)total : 0,
		};
	}
	return p;
}

uint64_t answer_cache_bytes(struct answer_cache *cache)
{
	hold_lock(&cache->lock);
	return cache->bytes;
}
