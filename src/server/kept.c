/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers that are kept.  See kept.h. */
#include "server/kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define GZIP_FROM 1024 /* bytes */
#define WORKERS_MAX 64
#define OVERHEAD 4096 /* that an answer counts for besides its bytes */

struct kept {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct kept_answer *first, *last; /* all of them */
	uint64_t bytes, limit;
	size_t waiting;
	bool stopping;
	struct gate *gate;
	pthread_t workers[WORKERS_MAX];
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

static void compute(struct kept *k, struct kept_answer *a)
{
	struct request *r = &a->request;
	struct buf plain = { 0 };
	struct sink sink;
	int error;

	gate_enter(k->gate);
	sink_to_function(&sink, take_bytes, &plain, SINK_PLAIN);
	error = r->route->answer(r, &sink);
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

/* With the lock held: the question that waits for longest. */
static struct kept_answer *next_waiting(const struct kept *k)
{
	for (struct kept_answer *a = k->last; a; a = a->before)
		if (a->state == KEPT_WAITING)
			return a;
	return NULL;
}

static void *worker(void *context)
{
	struct kept *k = context;
	struct kept_answer *a, *gone;

	pthread_mutex_lock(&k->lock);
	for (;;) {
		while (!k->stopping && !k->waiting)
			pthread_cond_wait(&k->work, &k->lock);
		if (k->stopping)
			break;
		a = next_waiting(k);
		a->state = KEPT_COMPUTING;
		k->waiting--;
		pthread_mutex_unlock(&k->lock);
		compute(k, a);
		pthread_mutex_lock(&k->lock);
		a->state = KEPT_DONE;
		k->bytes += cost(a);
		wake_all(a);
		gone = NULL;
		if (a->fault.status && !a->users) { /* what is wrong now may be right later */
			unlink_answer(k, a);
			k->bytes -= cost(a);
			a->next = NULL;
			gone = a;
		} else {
			gone = tidy(k);
		}
		if (gone) {
			pthread_mutex_unlock(&k->lock);
			free_list(gone);
			pthread_mutex_lock(&k->lock);
		}
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

struct kept *kept_new(struct gate *gate, unsigned workers, uint64_t limit)
{
	struct kept *k = xcalloc(1, sizeof(*k));

	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->work, NULL);
	k->gate = gate;
	k->limit = limit;
	for (unsigned i = 0; i < workers && i < WORKERS_MAX; i++)
		if (!pthread_create(&k->workers[k->worker_count], NULL, worker, k))
			k->worker_count++;
	return k;
}

void kept_stop(struct kept *k)
{
	pthread_mutex_lock(&k->lock);
	k->stopping = true;
	pthread_cond_broadcast(&k->work);
	for (struct kept_answer *a = k->first; a; a = a->next)
		if (a->state == KEPT_WAITING) {
			a->fault = (struct fault){ .status = 503, .position = -1, .progress = -1 };
			snprintf(a->fault.text, sizeof(a->fault.text), "the server ends");
			a->state = KEPT_DONE;
			k->bytes += cost(a);
			wake_all(a);
		}
	k->waiting = 0;
	pthread_mutex_unlock(&k->lock);
	for (unsigned i = 0; i < k->worker_count; i++)
		pthread_join(k->workers[i], NULL);
	k->worker_count = 0;
}

struct kept *kept_free(struct kept *k)
{
	if (!k)
		return NULL;
	kept_stop(k);
	free_list(k->first);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->work);
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

struct kept_answer *kept_ask(struct kept *k, const char *key, struct request *r, bool gzip,
			     struct waiter *w)
{
	struct kept_answer *a;

	pthread_mutex_lock(&k->lock);
	a = find(k, key);
	if (a) {
		unlink_answer(k, a);
		request_release(r);
	} else if (k->waiting >= KEPT_QUEUE_MAX || k->stopping) {
		pthread_mutex_unlock(&k->lock);
		return NULL;
	} else {
		a = xcalloc(1, sizeof(*a));
		a->key = xstrdup(key);
		a->request = *r;
		a->gzip = gzip;
		*r = (struct request){ 0 };
		k->waiting++;
		pthread_cond_signal(&k->work);
	}
	put_first(k, a);
	a->users++;
	if (a->state != KEPT_DONE) {
		w->next = a->waiters;
		a->waiters = w;
		w->sleep(w);
	}
	pthread_mutex_unlock(&k->lock);
	return a;
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
			k->waiting--;
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

uint64_t kept_bytes(struct kept *k)
{
	uint64_t bytes;

	pthread_mutex_lock(&k->lock);
	bytes = k->bytes;
	pthread_mutex_unlock(&k->lock);
	return bytes;
}
