/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* For tests of memory order, which include a source of the recorder behind this: threads that do
 * what the program's and the collector do, under ThreadSanitizer.  Built a second time with
 * WITHOUT_RELEASE, where nothing that is published is ordered any more, the sanitizer must see a
 * race (races.py): so the test can fail. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITHOUT_RELEASE
#define memory_order_release memory_order_relaxed
#endif

#define THREADS 3

static _Atomic uint32_t faults, running;

static inline uint32_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static inline void check(bool holds)
{
	if (!holds)
		atomic_fetch_add_explicit(&faults, 1, memory_order_relaxed);
}

/* Runs `work` in some threads with numbers of their own, and `look_on` until they have ended. */
static inline int run_threads(void *(*work)(void *), void (*look_on)(void))
{
	pthread_t threads[THREADS];

	atomic_store_explicit(&running, THREADS, memory_order_relaxed);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	while (atomic_load_explicit(&running, memory_order_relaxed))
		look_on();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	look_on();
	printf("%u faults\n", atomic_load(&faults));
	return atomic_load(&faults) != 0;
}

static inline void *ended(void)
{
	atomic_fetch_sub_explicit(&running, 1, memory_order_relaxed);
	return NULL;
}
