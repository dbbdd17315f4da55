/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pool of base/parallel.h, with four workers whatever the machine has, and what is in order on
 * top of it (base/ordered.h). */
#include "base/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ordered.h"
#include "unit.h"

#define TOTAL 100003u
#define BLOCK 97u

struct marks {
	_Atomic uint8_t *seen;
	_Atomic unsigned wrong;
	_Atomic uint64_t by_worker[8];
	_Atomic uint8_t busy[8]; /* a worker's number is used by one thread at a time */
};

static void mark(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct marks *m = context;

	if (worker >= parallel_workers() || atomic_exchange(&m->busy[worker], 1))
		m->wrong++;
	if (first % BLOCK || (count != BLOCK && first + count != TOTAL))
		m->wrong++;
	for (uint64_t i = first; i < first + count; i++)
		m->seen[i]++;
	m->by_worker[worker] += count;
	m->busy[worker] = 0;
}

static void run_and_check(void)
{
	struct marks m = { .seen = calloc(TOTAL, 1) };
	uint64_t sum = 0;

	parallel_for(TOTAL, BLOCK, mark, &m);
	for (uint32_t i = 0; i < TOTAL; i++)
		m.wrong += m.seen[i] != 1;
	for (unsigned i = 0; i < 8; i++)
		sum += m.by_worker[i];
	assert_int_equal(m.wrong, 0);
	assert_int_equal(sum, TOTAL);
	free((void *)m.seen);
}

static void test_each_once(void **state)
{
	assert_int_equal(parallel_workers(), 4);
	for (int i = 0; i < 50; i++)
		run_and_check();
}

static void count_call(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	_Atomic uint64_t *n = context;

	n[0]++;
	n[1] += count;
	n[2] += worker;
}

static void test_edges(void **state)
{
	_Atomic uint64_t n[3] = { 0 };

	parallel_for(0, 10, count_call, n);
	assert_int_equal(n[0], 0);
	parallel_for(7, 10, count_call, n);
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], 7);
	assert_int_equal(n[2], 0); /* so little is not handed over */
	parallel_for(3, 0, count_call, n);
	assert_int_equal(n[0], 4);
	assert_int_equal(n[1], 10);
}

static void outer(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	_Atomic uint64_t n[3] = { 0 };
	_Atomic unsigned *wrong = context;

	parallel_for(1000, 10, count_call, n);
	if (n[0] != 100 || n[1] != 1000 || n[2] != 0)
		(*wrong)++;
}

static void test_nested(void **state)
{
	_Atomic unsigned wrong = 0;

	parallel_for(200, 1, outer, &wrong);
	assert_int_equal(wrong, 0);
}

static void *caller(void *context)
{
	if (context)
		parallel_quietly();
	for (int i = 0; i < 20; i++)
		run_and_check();
	return NULL;
}

/* Some of them quiet: their jobs are left by helpers and taken up again. */
static void test_several_callers(void **state)
{
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, caller, i % 2 ? state : NULL),
				 0);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

static void meet(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	_Atomic unsigned *here = context;

	/* Ends only if another thread takes the other block. */
	(*here)++;
	while (*here < 2)
		usleep(100);
}

static void test_really_parallel(void **state)
{
	_Atomic unsigned here = 0;

	parallel_for(2, 1, meet, &here);
	assert_int_equal(here, 2);
}

static void test_after_fork(void **state)
{
	pid_t child;
	int status;

	parallel_workers();
	child = fork();
	if (!child) {
		_Atomic uint64_t n[3] = { 0 };

		parallel_for(1000, 10, count_call, n);
		_exit(n[1] == 1000 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Each worker makes a sum of its block; they are taken in order. */
struct sums {
	uint64_t made[8], taken, next, stop_at;
	bool wrong;
};

static void make_sum(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct sums *s = context;

	/* The first one of some is slow, so that others have to wait. */
	if (first % (7 * BLOCK) == 0)
		usleep(200);
	for (uint64_t i = first; i < first + count; i++)
		s->made[worker] += i;
}

static int take_sum(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct sums *s = context;

	s->wrong |= first != s->next;
	s->next = first + count;
	s->taken += s->made[worker];
	s->made[worker] = 0;
	return s->next >= s->stop_at ? -5 : 0;
}

static void check_in_order(bool alone)
{
	struct sums s = { .stop_at = UINT64_MAX };

	assert_int_equal(ordered_for(TOTAL, BLOCK, alone, make_sum, take_sum, &s), 0);
	assert_false(s.wrong);
	assert_int_equal(s.next, TOTAL);
	assert_int_equal(s.taken, (uint64_t)TOTAL * (TOTAL - 1) / 2);
	s = (struct sums){ .stop_at = 50 * BLOCK };
	assert_int_equal(ordered_for(TOTAL, BLOCK, alone, make_sum, take_sum, &s), -5);
	assert_false(s.wrong);
	assert_int_equal(s.next, 50 * BLOCK);
	s = (struct sums){ .stop_at = UINT64_MAX };
	assert_int_equal(ordered_for(0, BLOCK, alone, make_sum, take_sum, &s), 0);
	assert_int_equal(s.next, 0);
}

static void test_in_order(void **state)
{
	check_in_order(false);
	check_in_order(true);
}

static void count_nothing(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	if (context) /* a loop inside is no pass of its own */
		parallel_for(10 * BLOCK, BLOCK, count_nothing, NULL);
}

static void test_progress(void **state)
{
	struct parallel_progress p = { 0 };

	parallel_for(TOTAL, BLOCK, count_nothing, NULL);
	assert_int_equal(p.passes, 0);
	parallel_report(&p);
	parallel_for(TOTAL, BLOCK, count_nothing, NULL);
	assert_int_equal(p.passes, 1);
	assert_int_equal(p.done, TOTAL);
	assert_int_equal(p.total, TOTAL);
	parallel_for(3 * BLOCK, BLOCK, count_nothing, &p);
	assert_int_equal(p.passes, 2);
	assert_int_equal(p.done, 3 * BLOCK);
	parallel_for(BLOCK, BLOCK, count_nothing, NULL); /* too small to be told about */
	assert_int_equal(p.passes, 2);
	parallel_report(NULL);
	parallel_for(TOTAL, BLOCK, count_nothing, NULL);
	assert_int_equal(p.passes, 2);
}

/* A loop that is given up while its block `stop_at` runs. */
struct stopping {
	atomic_bool given_up;
	_Atomic uint8_t *seen; /* by block */
	_Atomic unsigned inside;
	uint64_t stop_at;
	bool nests;
};

static void count_inside(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct stopping *s = context;

	s->inside++;
}

static void run_until_stopped(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct stopping *s = context;

	s->seen[first / BLOCK]++;
	if (first / BLOCK == s->stop_at)
		s->given_up = true;
	if (s->nests) { /* a block goes to its end with whatever it calls */
		parallel_for(3 * BLOCK, BLOCK, count_inside, s);
		if (parallel_is_cut())
			s->inside += 1000000;
	}
}

#define BLOCKS ((TOTAL + BLOCK - 1) / BLOCK)

/* How many blocks of a loop were run: the first ones, each once. */
static unsigned blocks_run(uint64_t stop_at, bool nests)
{
	struct stopping s = { .seen = calloc(BLOCKS, 1), .stop_at = stop_at, .nests = nests };
	unsigned run = 0;

	parallel_stop_when(&s.given_up);
	assert_false(parallel_is_cut());
	parallel_for(TOTAL, BLOCK, run_until_stopped, &s);
	assert_int_equal(parallel_is_cut(), stop_at < BLOCKS);
	while (run < BLOCKS && s.seen[run] == 1)
		run++;
	for (unsigned i = run; i < BLOCKS; i++)
		assert_int_equal(s.seen[i], 0);
	assert_int_equal(s.inside, nests ? run * 3 : 0);
	parallel_stop_when(NULL);
	assert_false(parallel_is_cut());
	free((void *)s.seen);
	return run;
}

static void test_given_up(void **state)
{
	_Atomic uint64_t n[3] = { 0 };
	atomic_bool given_up = false;

	for (unsigned turn = 0; turn < 50; turn++) {
		unsigned at = turn * 19, run = blocks_run(at, turn % 2);

		/* Whoever had begun a block went on with it; another three may have begun one. */
		assert_true(run > at && run <= BLOCKS);
		assert_int_equal(blocks_run(BLOCKS, turn % 2), BLOCKS);
	}
	parallel_stop_when(&given_up);
	parallel_for(1000, 10, count_call, n);
	assert_int_equal(n[1], 1000);
	given_up = true;
	parallel_for(1000, 10, count_call, n); /* a later loop begins nothing at all */
	parallel_for(7, 10, count_call, n);
	assert_int_equal(n[1], 1000);
	parallel_stop_when(NULL);
}

/* Two blocks of a loop that has nobody to help it: the second is not begun. */
static void test_given_up_alone(void **state)
{
	struct stopping s = { .seen = calloc(2, 1) };

	parallel_stop_when(&s.given_up);
	parallel_for(1, 1, run_until_stopped, &s);
	assert_int_equal(s.seen[0], 1);
	parallel_for(1, 1, run_until_stopped, &s);
	assert_int_equal(s.seen[0], 1);
	parallel_stop_when(NULL);
	free((void *)s.seen);
}

/* What is kept is made whole, whoever gave up on what it was made for. */
static void make_part(_Atomic uint64_t *n)
{
	parallel_whole();
	parallel_for(7, 10, count_call, n);
}

static void make_whole(_Atomic uint64_t *n)
{
	parallel_whole();
	parallel_for(1000, 10, count_call, n);
	make_part(n);
	assert_false(parallel_is_cut());
	parallel_for(1000, 10, count_call, n);
}

static void test_whole(void **state)
{
	_Atomic uint64_t n[3] = { 0 };
	atomic_bool given_up = true;

	parallel_stop_when(&given_up);
	make_whole(n);
	assert_int_equal(n[1], 2007);
	assert_true(parallel_is_cut());
	parallel_for(1000, 10, count_call, n);
	assert_int_equal(n[1], 2007);
	parallel_stop_when(NULL);
}

static void *give_up_later(void *context)
{
	usleep(1000);
	*(atomic_bool *)context = true;
	return NULL;
}

/* Jobs of several callers: only the one that is given up stops. */
static void *caller_that_gives_up(void *context)
{
	for (int i = 0; i < 20; i++) {
		_Atomic uint64_t n[3] = { 0 };
		atomic_bool given_up = false;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, give_up_later, &given_up), 0);
		parallel_stop_when(&given_up);
		while (!parallel_is_cut())
			parallel_for(TOTAL, BLOCK, count_call, n);
		parallel_stop_when(NULL);
		pthread_join(thread, NULL);
	}
	return NULL;
}

static void test_others_go_on(void **state)
{
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i % 2 ? caller_that_gives_up : caller, NULL),
				 0);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
}

/* In order, what was given up ends with an error, and what was taken is what was made. */
static void test_given_up_in_order(void **state)
{
	struct sums s = { .stop_at = UINT64_MAX };
	atomic_bool given_up = true;

	parallel_stop_when(&given_up);
	assert_int_equal(ordered_for(TOTAL, BLOCK, false, make_sum, take_sum, &s), -ECANCELED);
	assert_int_equal(s.next, 0);
	parallel_stop_when(NULL);
	check_in_order(false);
}

UNIT(parallel)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_several_callers),
		cmocka_unit_test(test_really_parallel),
		cmocka_unit_test(test_after_fork),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_given_up_alone),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_others_go_on),
		cmocka_unit_test(test_given_up_in_order),
	};

	setenv("MEMOIR_THREADS", "4", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
