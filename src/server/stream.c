/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers in pieces.  See stream.h. */
#include "server/stream.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/hold_lock.h"
#include "base/now.h"
#include "base/parallel.h"
#include "base/sink.h"
#include "base/timed_cond.h"
#include "base/xalloc.h"
#include "server/ending.h"

struct stream {
	struct streams *all;
	struct stream *next; /* of those that wait for their turn, and of all */
	struct stream *next_of_all;
	pthread_mutex_t lock;
	pthread_cond_t room;
	unsigned users; /* the client's connection, and the thread or the queue */
	struct request request;
	bool gzip;
	struct buf waiting; /* bytes for the client, from `taken` on */
	size_t taken;
	bool begun, ended;
	/* Nobody takes it any more, or it failed.  Set with the lock held, and never unset; the
	 * loops of its thread look at it without. */
	atomic_bool broken;
	struct waiter *waiter;
};

struct streams {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct gate *gate;
	struct stream *queue, **queue_end, *list;
	unsigned running;
	bool stopping;
};

struct streams *streams_new(struct gate *gate)
{
	struct streams *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	s->gate = gate;
	s->queue_end = &s->queue;
	return s;
}

static void wake(struct stream *s)
{
	struct waiter *w = s->waiter;

	s->waiter = NULL;
	if (w)
		w->wake(w);
}

static void break_off(struct stream *s)
{
	hold_lock(&s->lock);
	s->broken = true;
	pthread_cond_signal(&s->room);
	wake(s);
}

static void unuse(struct stream *s)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	last = !--s->users;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	pthread_mutex_lock(&s->all->lock);
	for (struct stream **p = &s->all->list; *p; p = &(*p)->next_of_all)
		if (*p == s) {
			*p = s->next_of_all;
			break;
		}
	pthread_mutex_unlock(&s->all->lock);
	request_release(&s->request);
	buf_release(&s->waiting);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->room);
	free(s);
}

/* Waits until there is room, without a place at the gate; false if nobody takes it. */
static bool wait_for_room(struct stream *s)
{
	uint64_t until = now_ns() + STREAM_PATIENCE_MS * 1000000ull;
	int error = 0;

	while (!s->broken && !error && s->waiting.size - s->taken >= STREAM_PIECE)
		error = timed_cond_wait(&s->room, &s->lock, until);
	if (error)
		s->broken = true;
	return !s->broken;
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct stream *s = context;
	bool full, broken;

	pthread_mutex_lock(&s->lock);
	full = s->waiting.size - s->taken >= STREAM_PIECE;
	if (full && !s->broken) {
		gate_leave(s->all->gate);
		wait_for_room(s);
		pthread_mutex_unlock(&s->lock);
		gate_enter(s->all->gate);
		pthread_mutex_lock(&s->lock);
	}
	broken = s->broken;
	if (!broken) {
		if (s->taken) { /* what is left is less than a piece */
			memmove(s->waiting.data, s->waiting.data + s->taken,
				s->waiting.size - s->taken);
			s->waiting.size -= s->taken;
			s->taken = 0;
		}
		buf_add(&s->waiting, bytes, size);
		s->begun = true;
		wake(s);
	}
	pthread_mutex_unlock(&s->lock);
	return broken ? -EPIPE : 0;
}

static void write_all(struct stream *s)
{
	struct request *r = &s->request;
	struct sink sink;
	int error = -EPIPE;

	if (s->broken)
		return;
	gate_enter(s->all->gate);
	if (!s->broken) { /* it may have waited long for its place */
		sink_to_function(&sink, take_bytes, s, s->gzip ? SINK_GZIP : SINK_PLAIN);
		parallel_stop_when(&s->broken);
		error = r->route->answer(r, &sink);
		parallel_stop_when(NULL);
		if (error && !sink.error)
			sink_cancel(&sink);
		else
			error = sink_finish(&sink, NULL);
	}
	gate_leave(s->all->gate);
	pthread_mutex_lock(&s->lock);
	if (error && !r->ask.fault.status)
		ask_fail(&r->ask, 500, NULL, "%s", strerror(-error));
	s->broken |= error != 0;
	s->ended = true;
	wake(s);
	pthread_mutex_unlock(&s->lock);
}

/* A thread goes on with the next in the queue. */
static void *stream_thread(void *context)
{
	struct stream *s = context;
	struct streams *all = s->all;

	while (s) {
		write_all(s);
		unuse(s);
		pthread_mutex_lock(&all->lock);
		s = all->queue;
		if (s) {
			all->queue = s->next;
			if (!all->queue)
				all->queue_end = &all->queue;
		} else if (!--all->running) {
			pthread_cond_broadcast(&all->idle);
		}
		pthread_mutex_unlock(&all->lock);
	}
	return NULL;
}

/* With the lock of all held. */
static bool start_thread(struct stream *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	if (s->all->running >= STREAMS_MAX || s->all->stopping)
		return false;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, stream_thread, s);
	pthread_attr_destroy(&attr);
	s->all->running += !error;
	return !error;
}

struct stream *stream_new(struct streams *all, struct request *r, bool gzip, struct waiter *w)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	timed_cond_init(&s->room);
	s->all = all;
	s->users = 2;
	s->request = *r;
	s->gzip = gzip;
	*r = (struct request){ 0 };
	s->waiter = w;
	w->sleep(w);
	pthread_mutex_lock(&all->lock);
	s->next_of_all = all->list;
	all->list = s;
	if (all->stopping) {
		pthread_mutex_unlock(&all->lock);
		break_off(s);
		unuse(s);
		return s;
	}
	if (!start_thread(s)) {
		*all->queue_end = s;
		all->queue_end = &s->next;
		/* No thread at all, and none that would come to it. */
		if (!all->running) {
			all->queue = NULL;
			all->queue_end = &all->queue;
			pthread_mutex_unlock(&all->lock);
			break_off(s);
			unuse(s);
			return s;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return s;
}

void stream_drop(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->waiter = NULL;
	s->broken = true;
	pthread_cond_signal(&s->room);
	pthread_mutex_unlock(&s->lock);
	unuse(s);
}

bool streams_stop(struct streams *all, const struct timespec *deadline)
{
	hold_lock(&all->lock);
	all->stopping = true;
	for (struct stream *s = all->list; s; s = s->next_of_all)
		break_off(s);
	while (all->running && ending_wait(&all->idle, &all->lock, deadline))
		;
	return !all->running;
}

struct streams *streams_free(struct streams *s)
{
	if (!s)
		return NULL;
	streams_stop(s, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->idle);
	free(s);
	return NULL;
}

bool stream_is_ready(struct stream *s)
{
	hold_lock(&s->lock);
	return s->begun || s->ended || s->broken;
}

const struct fault *stream_fault(struct stream *s)
{
	static const struct fault gone = { 503, "there is too much to do", "", -1, 0, -1 };

	hold_lock(&s->lock);
	if (s->begun || (s->ended && !s->broken))
		return NULL;
	return s->request.ask.fault.status ? &s->request.ask.fault : &gone;
}

const struct request *stream_request(const struct stream *s)
{
	return &s->request;
}

bool stream_is_gzip(const struct stream *s)
{
	return s->gzip;
}

ssize_t stream_read(struct stream *s, char *to, size_t room, struct waiter *w)
{
	ssize_t n;

	hold_lock(&s->lock);
	n = (ssize_t)(s->waiting.size - s->taken);
	if (n) {
		n = n < (ssize_t)room ? n : (ssize_t)room;
		memcpy(to, s->waiting.data + s->taken, (size_t)n);
		s->taken += (size_t)n;
		pthread_cond_signal(&s->room);
	} else if (s->broken) {
		n = STREAM_BROKEN;
	} else if (s->ended) {
		n = STREAM_END;
	} else {
		s->waiter = w;
		w->sleep(w);
	}
	return n;
}
