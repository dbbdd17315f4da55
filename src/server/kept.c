/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers that are kept.  See kept.h. */
#include "server/kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/parallel.h"
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
#define WARM_MAX 100 /* questions that nobody has asked yet */

struct kept {
	pthread_mutex_t lock;
	pthread_cond_t work, quiet_work;
	struct kept_answer *first, *last; /* all of them */
	uint64_t bytes, limit;
	size_t waiting, computing; /* of those that cannot wait */
	size_t later, warm;	   /* that wait, of those that can */
	bool stopping, warming;
	struct gate *gate;
	pthread_t workers[WORKERS_MAX + QUIET_WORKERS];
	unsigned worker_count;
};

static uint64_t cost(const struct kept_answer *a)
{
	return a->body.room + OVERHEAD;
}

static void unlink_answer(struct kept *k, struct kept_answer *a)
{
	*(a->before ? &a->before->next : &k->first) = a->next;
	*(a->next ? &a->next->before : &k->last) = a->before;
	a->before = a->next = NULL;
}

static void put_first(struct kept *k, struct kept_answer *a)
{
	a->before = NULL;
	a->next = k->first;
	*(k->first ? &k->first->before : &k->last) = a;
	k->first = a;
}

static void free_answer(struct kept_answer *a)
{
	request_release(&a->request);
	buf_release(&a->body);
	free(a->file_name);
	free(a->key);
	free(a);
}

/* With the lock held: takes out what nobody uses, oldest first, until the rest fits. */
static struct kept_answer *tidy(struct kept *k)
{
	struct kept_answer *gone = NULL, *a = k->last, *before;

	for (; a && k->bytes > k->limit; a = before) {
		before = a->before;
		if (a->users || a->state != KEPT_DONE)
			continue;
		unlink_answer(k, a);
		k->bytes -= cost(a);
		a->next = gone;
		gone = a;
	}
	return gone;
}

static void free_list(struct kept_answer *a)
{
	while (a) {
		struct kept_answer *next = a->next;

		free_answer(a);
		a = next;
	}
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct buf *body = context;

	if (body->size + size > KEPT_ANSWER_MAX)
		return -EFBIG;
	buf_add(body, bytes, size);
	return 0;
}

/* The answer's bytes; compressed only if that is worth it. */
static void pack(struct kept_answer *a, struct buf *plain, bool gzip)
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

static void compute(struct kept *k, struct kept_answer *a, bool quiet)
{
	struct request *r = &a->request;
	struct buf plain = { 0 };
	struct sink sink;
	double began;
	int error;

	if (!quiet)
		gate_enter(k->gate);
	began = now_ms();
	sink_to_function(&sink, take_bytes, &plain, SINK_PLAIN);
	parallel_report(&a->progress);
	error = r->route->answer(r, &sink);
	parallel_report(NULL);
	if (error && !sink.error)
		sink_cancel(&sink);
	else
		error = sink_finish(&sink, NULL);
	if (error == -EFBIG)
		request_fail(r, 413, NULL, "the answer would be larger than %u MiB: ask for less",
			     KEPT_ANSWER_MAX >> 20);
	else if (error && !r->fault.status)
		request_fail(r, 500, NULL, "%s", strerror(-error));
	a->fault = r->fault;
	a->type = r->type ? r->type : r->route->type;
	a->foreign = r->foreign;
	a->file_name = r->file_name;
	r->file_name = NULL;
	if (a->fault.status)
		buf_release(&plain);
	else
		pack(a, &plain, a->gzip && !r->packed);
	request_release(r);
	a->took_ms = now_ms() - began;
	if (!quiet)
		gate_leave(k->gate);
}

static void wake_all(struct kept_answer *a)
{
	while (a->waiters) {
		struct waiter *w = a->waiters;

		a->waiters = w->next;
		w->next = NULL;
		w->wake(w);
	}
}

/* With the lock held: the question that waits for longest, of one kind. */
static struct kept_answer *next_waiting(const struct kept *k, bool later, bool warm)
{
	for (struct kept_answer *a = k->last; a; a = a->before)
		if (a->state == KEPT_WAITING && a->later == later && a->warm == warm)
			return a;
	return NULL;
}

/* With the lock held: what waits is counted by its kind. */
static size_t *counter_of(struct kept *k, const struct kept_answer *a)
{
	return a->warm ? &k->warm : a->later ? &k->later : &k->waiting;
}

/* With the lock held. */
static void wake_workers(struct kept *k)
{
	if (k->waiting)
		pthread_cond_signal(&k->work);
	if (k->later || (k->warm && !k->waiting && !k->computing))
		pthread_cond_broadcast(&k->quiet_work);
}

/* With the lock held, which is given up meanwhile. */
static void answer_one(struct kept *k, struct kept_answer *a, bool quiet)
{
	struct kept_answer *gone = NULL;

	--*counter_of(k, a);
	a->state = KEPT_COMPUTING;
	k->computing += !quiet;
	pthread_mutex_unlock(&k->lock);
	compute(k, a, quiet);
	pthread_mutex_lock(&k->lock);
	k->computing -= !quiet;
	a->state = KEPT_DONE;
	k->bytes += cost(a);
	wake_all(a);
	if (a->fault.status && !a->users) { /* what is wrong now may be right later */
		unlink_answer(k, a);
		k->bytes -= cost(a);
		a->next = NULL;
		gone = a;
	} else {
		gone = tidy(k);
	}
	wake_workers(k);
	if (gone) {
		pthread_mutex_unlock(&k->lock);
		free_list(gone);
		pthread_mutex_lock(&k->lock);
	}
}

static void *worker(void *context)
{
	struct kept *k = context;

	pthread_mutex_lock(&k->lock);
	while (!k->stopping) {
		if (k->waiting)
			answer_one(k, next_waiting(k, false, false), false);
		else
			pthread_cond_wait(&k->work, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* How long a question that can wait still does, in ms. */
static double time_left(const struct kept *k, const struct kept_answer *a)
{
	bool busy = k->waiting || k->computing;

	return a->asked_ms + (busy ? PATIENCE_MS : GRACE_MS) - now_ms();
}

static void wait_for(pthread_cond_t *cond, pthread_mutex_t *lock, double ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(ms * 1e6);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(cond, lock, &t);
}

/* For what can wait.  Only the first of them answers what nobody has asked: the other one is there
 * for those who ask with patience. */
static void *quiet_worker(void *context)
{
	struct kept *k = context;
	bool warms;

	if (setpriority(PRIO_PROCESS, (id_t)gettid(), QUIET_NICE) < 0)
		errno = 0; /* then it is as loud as the others */
	parallel_quietly();
	pthread_mutex_lock(&k->lock);
	warms = !k->warming;
	k->warming = true;
	while (!k->stopping) {
		struct kept_answer *a = k->later ? next_waiting(k, true, false) : NULL;
		double left = a ? time_left(k, a) : 0;

		if (a && left <= 0)
			answer_one(k, a, true);
		else if (a)
			wait_for(&k->quiet_work, &k->lock, left);
		else if (warms && k->warm && !k->waiting && !k->computing)
			answer_one(k, next_waiting(k, true, true), true);
		else
			pthread_cond_wait(&k->quiet_work, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

struct kept *kept_new(struct gate *gate, unsigned workers, uint64_t limit)
{
	struct kept *k = xcalloc(1, sizeof(*k));
	pthread_condattr_t attr;

	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->quiet_work, &attr);
	pthread_condattr_destroy(&attr);
	k->gate = gate;
	k->limit = limit;
	workers = workers < WORKERS_MAX ? workers : WORKERS_MAX;
	for (unsigned i = 0; i < workers + QUIET_WORKERS; i++)
		if (!pthread_create(&k->workers[k->worker_count], NULL,
				    i < workers ? worker : quiet_worker, k))
			k->worker_count++;
	return k;
}

bool kept_stop(struct kept *k, const struct timespec *deadline)
{
	pthread_mutex_lock(&k->lock);
	k->stopping = true;
	pthread_cond_broadcast(&k->work);
	pthread_cond_broadcast(&k->quiet_work);
	for (struct kept_answer *a = k->first; a; a = a->next)
		if (a->state == KEPT_WAITING) {
			a->fault = (struct fault){ .status = 503, .position = -1, .progress = -1 };
			snprintf(a->fault.text, sizeof(a->fault.text), "the server ends");
			a->state = KEPT_DONE;
			k->bytes += cost(a);
			wake_all(a);
		}
	k->waiting = k->later = k->warm = 0;
	pthread_mutex_unlock(&k->lock);
	k->worker_count = ending_join_all(k->workers, k->worker_count, deadline);
	if (!k->worker_count)
		return true;
	pthread_mutex_lock(&k->lock);
	for (struct kept_answer *a = k->first; a; a = a->next)
		wake_all(a);
	pthread_mutex_unlock(&k->lock);
	return false;
}

struct kept *kept_free(struct kept *k)
{
	if (!k)
		return NULL;
	kept_stop(k, NULL);
	free_list(k->first);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->work);
	pthread_cond_destroy(&k->quiet_work);
	free(k);
	return NULL;
}

static struct kept_answer *find(const struct kept *k, const char *key)
{
	for (struct kept_answer *a = k->first; a; a = a->next)
		if (!strcmp(a->key, key) && !(a->state == KEPT_DONE && a->fault.status))
			return a;
	return NULL;
}

/* With the lock held: a new question, of a kind that is not counted yet. */
static struct kept_answer *add(struct kept *k, const char *key, struct request *r, bool gzip)
{
	struct kept_answer *a = xcalloc(1, sizeof(*a));

	a->key = xstrdup(key);
	a->asked_ms = now_ms();
	a->request = *r;
	a->gzip = gzip;
	*r = (struct request){ 0 };
	put_first(k, a);
	return a;
}

struct kept_answer *kept_ask(struct kept *k, const char *key, struct request *r, bool gzip,
			     bool patient, struct waiter *w)
{
	struct kept_answer *a;

	pthread_mutex_lock(&k->lock);
	a = find(k, key);
	if (k->stopping ? !a || a->state != KEPT_DONE
			: !a && k->waiting + k->later >= KEPT_QUEUE_MAX) {
		pthread_mutex_unlock(&k->lock);
		return NULL;
	}
	if (a) {
		unlink_answer(k, a);
		put_first(k, a);
		request_release(r);
	} else {
		a = add(k, key, r, gzip);
		a->later = a->warm = true;
		k->warm++;
	}
	if (a->state == KEPT_WAITING && (a->warm || !patient)) {
		--*counter_of(k, a);
		a->warm = false;
		a->later = patient;
		++*counter_of(k, a);
		wake_workers(k);
	}
	a->users++;
	if (a->state != KEPT_DONE) {
		w->next = a->waiters;
		a->waiters = w;
		w->sleep(w);
	}
	pthread_mutex_unlock(&k->lock);
	return a;
}

void kept_warm(struct kept *k, const char *key, struct request *r, bool gzip)
{
	pthread_mutex_lock(&k->lock);
	if (!k->stopping && k->warm < WARM_MAX && !find(k, key)) {
		struct kept_answer *a = add(k, key, r, gzip);

		a->later = a->warm = true;
		k->warm++;
		wake_workers(k);
	}
	pthread_mutex_unlock(&k->lock);
	request_release(r);
}

void kept_give(struct kept *k, struct kept_answer *a, struct waiter *w)
{
	bool dropped;

	pthread_mutex_lock(&k->lock);
	for (struct waiter **p = &a->waiters; *p; p = &(*p)->next)
		if (*p == w) {
			*p = w->next;
			break;
		}
	w->next = NULL;
	dropped = !--a->users &&
		  (a->state == KEPT_WAITING || (a->state == KEPT_DONE && a->fault.status));
	if (dropped) {
		if (a->state == KEPT_WAITING)
			--*counter_of(k, a);
		unlink_answer(k, a);
		k->bytes -= a->state == KEPT_DONE ? cost(a) : 0;
	}
	pthread_mutex_unlock(&k->lock);
	if (dropped)
		free_answer(a);
}

bool kept_is_done(struct kept *k, const struct kept_answer *a)
{
	bool done;

	pthread_mutex_lock(&k->lock);
	done = a->state == KEPT_DONE;
	pthread_mutex_unlock(&k->lock);
	return done;
}

struct kept_progress kept_progress(struct kept *k, const char *key)
{
	struct kept_progress p = { 0 };
	struct kept_answer *a;
	uint64_t total;

	pthread_mutex_lock(&k->lock);
	a = find(k, key);
	if (a && a->state != KEPT_DONE) {
		total = a->progress.total;
		p = (struct kept_progress){
			.asked = true,
			.computing = a->state == KEPT_COMPUTING,
			.ms = now_ms() - a->asked_ms,
			.pass = a->progress.passes,
			.done = total ? (double)a->progress.done / (double)total : 0,
		};
	}
	pthread_mutex_unlock(&k->lock);
	return p;
}

uint64_t kept_bytes(struct kept *k)
{
	uint64_t bytes;

	pthread_mutex_lock(&k->lock);
	bytes = k->bytes;
	pthread_mutex_unlock(&k->lock);
	return bytes;
}
