/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks that live for different times, for culling.  cull MODE [COUNT] */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "say.h"

NOINLINE void *brief(size_t n)
{
	return HIDE(malloc(n));
}

NOINLINE void *lasting(size_t n)
{
	return HIDE(malloc(n));
}

NOINLINE void *grown(void *p, size_t n)
{
	return HIDE(realloc(p, n));
}

/* One block of a microsecond, one of a second, one for ever, a chain for ever. */
static int lifetimes(void)
{
	void *p = lasting(1001), *chain = lasting(2000);

	lasting(1002);
	free(brief(1000));
	chain = grown(chain, 3000);
	usleep(300000);
	free(p);
	return 0;
}

static void *blocks[3];
static pthread_barrier_t barrier;

static void *owner(void *argument)
{
	blocks[0] = lasting(1234);
	blocks[1] = lasting(1235);
	pthread_barrier_wait(&barrier);
	blocks[2] = lasting(1236);
	pthread_barrier_wait(&barrier);
	return argument;
}

/* Freed by another thread after a while; the last one after its owner has gone. */
static int other_thread(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, owner, NULL))
		fail("pthread_create");
	pthread_barrier_wait(&barrier);
	usleep(100000);
	free(blocks[0]);
	free(blocks[1]);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	usleep(100000);
	free(blocks[2]);
	return 0;
}

/* Each chain is reallocated five times and freed at once; every hundredth stays. */
static int chains(long n)
{
	for (long i = 0; i < n; i++) {
		void *p = brief(10);

		for (size_t k = 1; k <= 5; k++)
			p = grown(p, 10 + k * 100);
		if (i % 100 == 0)
			p = grown(p, 7);
		else
			free(p);
	}
	return 0;
}

static void churn(long n)
{
	for (long i = 0; i < n; i++) {
		void *p = brief(50 + (size_t)i % 100);

		if (i % 5 == 0)
			p = grown(p, 400);
		free(p);
	}
}

/* A block that outlives a lot of brief ones: freed by its thread's next lasting event. */
static int temporary(long n)
{
	void *p = lasting(777);

	churn(n);
	usleep(200000);
	free(p);
	return 0;
}

static int many(long n)
{
	void *kept[50] = { 0 }, *all[500];

	for (long i = 0; i < n; i += 100000) {
		churn(n < 100000 ? n : 100000);
		free(kept[i / 100000 % 50]);
		kept[i / 100000 % 50] = lasting(5000);
	}
	for (int i = 0; i < 500; i++)
		all[i] = lasting(20000); /* the peak, and all of it brief */
	for (int i = 0; i < 500; i++)
		free(all[i]);
	churn(1000);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(mode, "lifetimes"))
		return lifetimes();
	if (!strcmp(mode, "other-thread"))
		return other_thread();
	if (!strcmp(mode, "chains"))
		return chains(n);
	if (!strcmp(mode, "temporary"))
		return temporary(n);
	if (!strcmp(mode, "many"))
		return many(n);
	if (!strcmp(mode, "kill")) {
		lasting(4000);
		churn(n);
		brief(4001);
		kill(getpid(), SIGKILL);
	}
	fail("which mode?");
	return 99;
}
