/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers that are cached and answers that are streamed, without connections: computed once,
 * dropped when nobody waits, bounded, and no faster than they are taken. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/parallel.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "server/answer_cache.h"
#include "server/ending.h"
#include "server/stream.h"

/* A route that notes how often it is asked, and waits until it may answer. */
static _Atomic unsigned computed;
static sem_t may_go, has_begun;
static _Atomic bool waits;

static int answer(struct request *r, struct sink *out)
{
	computed++;
	if (waits) {
		sem_post(&has_begun);
		sem_wait(&may_go);
	}
	buf_repeat(&out->buf, 'x', 1000);
	return 0;
}

static int answer_wrong(struct request *r, struct sink *out)
{
	computed++;
	return ask_fail(&r->ask, 400, "size", "it is wrong");
}

#define ENDLESS (64u << 20)
static _Atomic uint64_t written;
static _Atomic int ended_with;

static int answer_long(struct request *r, struct sink *out)
{
	int error = 0;

	for (written = 0; written < ENDLESS && !error; written += 1000) {
		buf_repeat(&out->buf, 'y', 1000);
		error = sink_turn(out);
	}
	ended_with = error ? error : 1;
	return error;
}

static _Atomic unsigned at_once;

static int answer_at_once(struct request *r, struct sink *out)
{
	at_once++;
	buf_repeat(&out->buf, 'z', 10);
	return 0;
}

static const struct route quick = { .path = "/x", .answer = answer_at_once };
static const struct route route = { .path = "/x", .answer = answer };
static const struct route wrong = { .path = "/x", .answer = answer_wrong };
static const struct route long_one = { .path = "/x", .answer = answer_long };

struct sleeper {
	struct waiter waiter;
	sem_t woken;
	bool slept;
};

static void fall_asleep(struct waiter *w)
{
	((struct sleeper *)w)->slept = true;
}

static void wake_up(struct waiter *w)
{
	sem_post(&((struct sleeper *)w)->woken);
}

static struct sleeper *sleeper_new(void)
{
	struct sleeper *s = xcalloc(1, sizeof(*s));

	s->waiter = (struct waiter){ .sleep = fall_asleep, .wake = wake_up };
	sem_init(&s->woken, 0, 0);
	return s;
}

static struct cached_answer *ask(struct answer_cache *k, const char *key, const struct route *what,
				 struct sleeper *s)
{
	struct request r = { .route = what, .ask.fault = FAULT_NONE };

	return answer_cache_ask(k, key, &r, false, false, &s->waiter);
}

static void start(struct gate *g, bool wait)
{
	gate_init(g, 2);
	computed = 0;
	waits = wait;
	sem_init(&may_go, 0, 0);
	sem_init(&has_begun, 0, 0);
}

static void is_computed_once(void **state)
{
	struct cached_answer *a[20];
	struct sleeper *s[20];
	struct gate g;
	struct answer_cache *k;

	start(&g, true);
	k = answer_cache_new(&g, 2, 1 << 20);
	for (unsigned i = 0; i < 20; i++) {
		s[i] = sleeper_new();
		a[i] = ask(k, "the same", &route, s[i]);
		assert_true(s[i]->slept);
		assert_ptr_equal(a[i], a[0]);
	}
	sem_post(&may_go);
	for (unsigned i = 0; i < 20; i++) {
		sem_wait(&s[i]->woken);
		assert_true(answer_cache_is_done(k, a[i]));
		assert_int_equal(a[i]->body.size, 1000);
		answer_cache_release(k, a[i], &s[i]->waiter);
	}
	s[0]->slept = false;
	a[0] = ask(k, "the same", &route, s[0]);
	assert_false(s[0]->slept);
	answer_cache_release(k, a[0], &s[0]->waiter);
	assert_int_equal(computed, 1);
	answer_cache_free(k);
	gate_release(&g);
	for (unsigned i = 0; i < 20; i++)
		free(s[i]);
}

static void is_dropped_if_nobody_waits(void **state)
{
	struct sleeper *first = sleeper_new(), *second = sleeper_new();
	struct cached_answer *a, *b;
	struct gate g;
	struct answer_cache *k;

	start(&g, true);
	k = answer_cache_new(&g, 1, 1 << 20);
	a = ask(k, "first", &route, first);
	sem_wait(&has_begun);
	b = ask(k, "second", &route, second);
	answer_cache_release(k, b, &second->waiter); /* its client went away */
	answer_cache_release(k, a, &first->waiter);  /* so did this one's, which has begun */
	first->slept = false;
	a = ask(k, "first", &route, first); /* nobody is given what was given up */
	assert_true(first->slept);
	sem_post(&may_go);
	sem_post(&may_go);
	sem_wait(&first->woken);
	assert_int_equal(a->body.size, 1000);
	answer_cache_release(k, a, &first->waiter);
	answer_cache_free(k);
	assert_int_equal(computed, 2);
	gate_release(&g);
	free(first);
	free(second);
}

/* Half of what it writes is there before it is given up, and the other half after. */
static int answer_until_given_up(struct request *r, struct sink *out)
{
	computed++;
	buf_repeat(&out->buf, 'a', 100);
	sem_post(&has_begun);
	while (waits && !parallel_is_cut())
		sched_yield();
	buf_repeat(&out->buf, 'b', 100);
	return 0;
}

/* Only when the last of those who wait has gone; and what somebody prefetches goes to its end. */
static void is_given_up_by_the_last(void **state)
{
	static const struct route until = { .path = "/x", .answer = answer_until_given_up };
	struct sleeper *first = sleeper_new(), *second = sleeper_new();
	struct request r = { .route = &until, .ask.fault = FAULT_NONE };
	struct cached_answer *a, *b;
	struct answer_cache *k;
	struct gate g;

	start(&g, true);
	k = answer_cache_new(&g, 1, 1 << 20);
	a = ask(k, "shared", &until, first);
	sem_wait(&has_begun);
	b = ask(k, "shared", &until, second);
	assert_ptr_equal(a, b);
	answer_cache_release(k, a, &first->waiter);
	assert_false(b->given_up);
	answer_cache_release(k, b, &second->waiter);
	/* The only worker is free again, though nothing else would have ended the first one. */
	waits = false;
	first->slept = false;
	a = ask(k, "shared", &until, first);
	assert_true(first->slept);
	sem_wait(&first->woken);
	assert_int_equal(a->body.size, 200);
	assert_int_equal(computed, 2);
	answer_cache_release(k, a, &first->waiter);
	/* What began before anybody asked. */
	waits = true;
	sem_init(&has_begun, 0, 0);
	answer_cache_prefetch(k, "prefetched", &r, false);
	sem_wait(&has_begun);
	a = ask(k, "prefetched", &until, first);
	answer_cache_release(k, a, &first->waiter);
	assert_false(a->given_up);
	waits = false;
	first->slept = false;
	a = ask(k, "prefetched", &until, first);
	if (first->slept)
		sem_wait(&first->woken);
	assert_int_equal(a->body.size, 200);
	assert_int_equal(computed, 3);
	answer_cache_release(k, a, &first->waiter);
	answer_cache_free(k);
	gate_release(&g);
	free(first);
	free(second);
}

static void is_bounded(void **state)
{
	struct sleeper *s = sleeper_new();
	struct cached_answer *a;
	struct gate g;
	struct answer_cache *k;
	char key[16];

	start(&g, false);
	k = answer_cache_new(&g, 2, 100000);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(key, sizeof(key), "%u", i);
		s->slept = false;
		a = ask(k, key, &route, s);
		if (s->slept)
			sem_wait(&s->woken);
		answer_cache_release(k, a, &s->waiter);
		assert_true(answer_cache_bytes(k) <= 100000 + 8192);
	}
	assert_int_equal(computed, 300);
	s->slept = false;
	a = ask(k, "299", &route, s); /* the last one is still there, the first is not */
	assert_false(s->slept);
	answer_cache_release(k, a, &s->waiter);
	a = ask(k, "0", &route, s);
	assert_true(s->slept);
	sem_wait(&s->woken);
	answer_cache_release(k, a, &s->waiter);
	answer_cache_free(k);
	gate_release(&g);
	free(s);
}

static void faults_are_not_cached(void **state)
{
	struct sleeper *s = sleeper_new();
	struct cached_answer *a;
	struct gate g;
	struct answer_cache *k;

	start(&g, false);
	k = answer_cache_new(&g, 1, 1 << 20);
	for (unsigned i = 1; i <= 3; i++) {
		s->slept = false;
		a = ask(k, "bad", &wrong, s);
		if (s->slept)
			sem_wait(&s->woken);
		assert_int_equal(a->fault.status, 400);
		assert_string_equal(a->fault.parameter, "size");
		answer_cache_release(k, a, &s->waiter);
		assert_int_equal(computed, i);
	}
	answer_cache_free(k);
	gate_release(&g);
	free(s);
}

/* What can wait does not keep others waiting, and what nobody has asked comes last. */
static void patience(void **state)
{
	struct sleeper *s[4];
	struct cached_answer *a[4];
	struct request r = { .route = &quick, .ask.fault = FAULT_NONE };
	struct request second = r, third = r;
	struct gate g;
	struct answer_cache *k;

	start(&g, true);
	at_once = 0;
	k = answer_cache_new(&g, 2, 1 << 20);
	for (unsigned i = 0; i < 4; i++)
		s[i] = sleeper_new();
	a[0] = ask(k, "long", &route, s[0]);
	sem_wait(&has_begun);
	answer_cache_prefetch(k, "prefetched", &r, false);
	answer_cache_prefetch(k, "prefetched", &second, false);
	/* Answered beside the long one; the other is not even begun. */
	a[1] = answer_cache_ask(k, "patient", &third, false, true, &s[1]->waiter);
	assert_true(s[1]->slept);
	sem_wait(&s[1]->woken);
	assert_int_equal(at_once, 1);
	/* Now somebody asks for it. */
	a[2] = ask(k, "prefetched", &quick, s[2]);
	assert_true(s[2]->slept);
	sem_wait(&s[2]->woken);
	assert_int_equal(at_once, 2);
	/* When there is nothing else to do, it is made; a client may ask too late or in time. */
	sem_post(&may_go);
	sem_wait(&s[0]->woken);
	third = (struct request){ .route = &quick, .ask.fault = FAULT_NONE };
	answer_cache_prefetch(k, "next", &third, false);
	while (at_once < 3)
		sched_yield();
	a[3] = ask(k, "next", &quick, s[3]);
	if (s[3]->slept)
		sem_wait(&s[3]->woken);
	assert_int_equal(at_once, 3);
	assert_int_equal(a[3]->body.size, 10);
	for (unsigned i = 0; i < 4; i++) {
		answer_cache_release(k, a[i], &s[i]->waiter);
		free(s[i]);
	}
	answer_cache_free(k);
	gate_release(&g);
}

/* Nothing is prefetched while somebody waits for what can wait.  Either of two workers may compute
 * that, and one of them prefetches: so this is seen a few times. */
static void nothing_is_prefetched_meanwhile(void **state)
{
	for (unsigned turn = 0; turn < 8; turn++) {
		struct sleeper *s = sleeper_new();
		struct request r = { .route = &route, .ask.fault = FAULT_NONE };
		struct request other = { .route = &quick, .ask.fault = FAULT_NONE };
		struct cached_answer *a;
		struct answer_cache *k;
		struct gate g;

		start(&g, true);
		at_once = 0;
		k = answer_cache_new(&g, 1, 1 << 20);
		a = answer_cache_ask(k, "patient", &r, false, true, &s->waiter);
		sem_wait(&has_begun);
		answer_cache_prefetch(k, "prefetched", &other, false);
		usleep(20000);
		assert_int_equal(at_once, 0);
		sem_post(&may_go);
		sem_wait(&s->woken);
		while (!at_once)
			sched_yield();
		answer_cache_release(k, a, &s->waiter);
		answer_cache_free(k);
		gate_release(&g);
		free(s);
	}
}

static void ends_with_questions_waiting(void **state)
{
	struct cached_answer *a[8];
	struct sleeper *s[8];
	struct gate g;
	struct answer_cache *k;
	char key[16];

	start(&g, true);
	k = answer_cache_new(&g, 1, 1 << 20);
	for (unsigned i = 0; i < 8; i++) {
		s[i] = sleeper_new();
		snprintf(key, sizeof(key), "%u", i);
		a[i] = ask(k, key, &route, s[i]);
		if (!i)
			sem_wait(&has_begun);
	}
	waits = false; /* for those that are begun before it stops */
	sem_post(&may_go);
	answer_cache_stop(k, NULL);
	for (unsigned i = 0; i < 8; i++) {
		sem_wait(&s[i]->woken);
		assert_true(!a[i]->fault.status || a[i]->fault.status == 503);
		answer_cache_release(k, a[i], &s[i]->waiter);
		free(s[i]);
	}
	assert_null(ask(k, "late", &route, s[0] = sleeper_new()));
	free(s[0]);
	answer_cache_free(k);
	gate_release(&g);
}

/* One is being computed and does not end: nobody waits for it, and it can end later. */
static void ends_with_one_computing(void **state)
{
	struct timespec deadline = ending_deadline(100);
	struct sleeper *s = sleeper_new(), *late = sleeper_new();
	struct answer_cache_progress progress;
	struct cached_answer *a;
	struct gate g;
	struct answer_cache *k;

	start(&g, true);
	k = answer_cache_new(&g, 1, 1 << 20);
	a = ask(k, "stuck", &route, s);
	sem_wait(&has_begun);
	progress = answer_cache_progress(k, "stuck");
	assert_true(progress.asked && progress.computing && progress.ms >= 0);
	assert_false(answer_cache_progress(k, "other").asked);
	assert_false(answer_cache_stop(k, &deadline));
	sem_wait(&s->woken);
	assert_false(answer_cache_is_done(k, a));
	/* Nobody joins those who wait for it now. */
	assert_null(ask(k, "stuck", &route, late));
	answer_cache_release(k, a, &s->waiter);
	sem_post(&may_go);
	assert_true(answer_cache_stop(k, NULL));
	answer_cache_free(k);
	gate_release(&g);
	free(s);
	free(late);
}

static struct stream *stream_of(struct streams *all, struct sleeper *s)
{
	struct request r = { .route = &long_one, .ask.fault = FAULT_NONE };

	return stream_new(all, &r, false, &s->waiter);
}

/* Reads until the end or an error; returns that, and how much came. */
static ssize_t read_all(struct stream *x, struct sleeper *s, uint64_t *ret_size)
{
	char room[50000];
	ssize_t n;

	*ret_size = 0;
	for (;;) {
		s->slept = false;
		n = stream_read(x, room, sizeof(room), &s->waiter);
		if (n < 0)
			return n;
		if (s->slept)
			sem_wait(&s->woken);
		*ret_size += (uint64_t)n;
	}
}

static void streams_are_no_faster_than_their_clients(void **state)
{
	struct sleeper *s = sleeper_new();
	struct streams *all;
	struct stream *x;
	struct gate g;
	uint64_t size;

	start(&g, false);
	all = streams_new(&g);
	x = stream_of(all, s);
	sem_wait(&s->woken);
	assert_true(stream_is_ready(x));
	assert_null(stream_fault(x));
	/* Nothing is taken: it stops soon, however long one waits. */
	for (unsigned i = 0; i < 20; i++) {
		usleep(1000);
		assert_true(written <= STREAM_PIECE + 3 * SINK_BLOCK);
	}
	assert_int_equal(read_all(x, s, &size), STREAM_END);
	assert_int_equal(size, written);
	stream_drop(x);
	streams_free(all);
	gate_release(&g);
	free(s);
}

static void streams_end_when_their_client_goes(void **state)
{
	struct sleeper *s = sleeper_new();
	struct streams *all;
	struct stream *x;
	struct gate g;

	start(&g, false);
	ended_with = 0;
	all = streams_new(&g);
	x = stream_of(all, s);
	sem_wait(&s->woken);
	stream_drop(x);
	streams_free(all); /* waits for its thread */
	assert_int_equal(ended_with, -EPIPE);
	gate_release(&g);
	free(s);
}

/* More than may run at once, half of them dropped before their turn, then all broken off. */
static void many_streams(void **state)
{
	enum { COUNT = 3 * STREAMS_MAX };
	struct sleeper *s[COUNT];
	struct stream *x[COUNT];
	struct streams *all;
	struct gate g;
	uint64_t size;

	start(&g, false);
	all = streams_new(&g);
	for (unsigned i = 0; i < COUNT; i++) {
		s[i] = sleeper_new();
		x[i] = stream_of(all, s[i]);
	}
	for (unsigned i = 0; i < COUNT; i += 2)
		stream_drop(x[i]);
	sem_wait(&s[1]->woken);
	streams_stop(all, NULL);
	for (unsigned i = 1; i < COUNT; i += 2) {
		assert_true(stream_is_ready(x[i]));
		if (!stream_fault(x[i]))
			assert_int_equal(read_all(x[i], s[i], &size), STREAM_BROKEN);
		stream_drop(x[i]);
	}
	streams_free(all);
	gate_release(&g);
	for (unsigned i = 0; i < COUNT; i++)
		free(s[i]);
}

UNIT(answers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_computed_once),
		cmocka_unit_test(is_dropped_if_nobody_waits),
		cmocka_unit_test(is_given_up_by_the_last),
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(faults_are_not_cached),
		cmocka_unit_test(patience),
		cmocka_unit_test(nothing_is_prefetched_meanwhile),
		cmocka_unit_test(ends_with_questions_waiting),
		cmocka_unit_test(ends_with_one_computing),
		cmocka_unit_test(streams_are_no_faster_than_their_clients),
		cmocka_unit_test(streams_end_when_their_client_goes),
		cmocka_unit_test(many_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
