/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pairs FRAMES PAIRS THREADS: malloc and free in pairs, FRAMES deep, and what one pair took.
 *
 * Each pair is made at the bottom of a fresh recursion of a few frames on top of a deep one that
 * stays, as real programs do: the inner frames change from pair to pair, the outer ones do not.
 * Prints JSON: nanoseconds a pair of wall time and of the threads' own processor time. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

static int frames, threads;
static long pairs;
static pthread_barrier_t start;
static double cpu_ns[64], wall_ns[64];

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static NOINLINE void *allocate(size_t size)
{
	void *block = malloc(size);

	KEEP(block);
	return block;
}

static NOINLINE void release(void *block)
{
	free(block);
	KEEP(block);
}

static NOINLINE void one(size_t size)
{
	void *block = allocate(size);

	release(block);
	KEEP(block);
}

static NOINLINE void other(size_t size)
{
	void *block = allocate(size);

	release(block);
	KEEP(block);
}

static NOINLINE void many(void)
{
	for (long i = 0; i < pairs; i += 2) {
		one((size_t)(i & 255) + 1);
		other((size_t)(i & 127) + 1);
	}
	KEEP(pairs);
}

static NOINLINE void dive(int depth)
{
	if (depth > 0)
		dive(depth - 1);
	else
		many();
	KEEP(depth);
}

static void *run(void *argument)
{
	intptr_t number = (intptr_t)argument;
	double wall, cpu;

	free(malloc(10));
	if (threads > 1)
		pthread_barrier_wait(&start);
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	/* main (or the thread's start), run, dive…, many, one, allocate. */
	if (frames > 5)
		dive(frames - 6);
	else
		many();
	cpu_ns[number] = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall_ns[number] = now(CLOCK_MONOTONIC) - wall;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[64];
	double cpu = 0, wall = 0;

	frames = argc > 1 ? atoi(argv[1]) : 5;
	pairs = argc > 2 ? atol(argv[2]) : 1000000;
	threads = argc > 3 ? atoi(argv[3]) : 1;
	if (threads < 1 || threads > 64)
		return 2;
	if (threads == 1) {
		run(NULL);
	} else {
		pthread_barrier_init(&start, NULL, (unsigned)threads);
		for (intptr_t i = 0; i < threads; i++)
			if (pthread_create(&ids[i], NULL, run, (void *)i))
				return 1;
		for (int i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
	}
	for (int i = 0; i < threads; i++) {
		cpu += cpu_ns[i];
		if (wall_ns[i] > wall)
			wall = wall_ns[i];
	}
	printf("{\"cpu_ns\": %.3f, \"wall_ns\": %.3f}\n", cpu / (double)pairs / threads,
	       wall / (double)pairs);
	return 0;
}
