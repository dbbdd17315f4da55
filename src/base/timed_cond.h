/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Conditions that are waited for until a moment of now_ns(), whatever happens to the system's time.
 */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline void timed_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* With the lock held: 0, or ETIMEDOUT. */
static inline int timed_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	struct timespec t = { .tv_sec = (time_t)(until_ns / 1000000000),
			      .tv_nsec = (long)(until_ns % 1000000000) };

	return pthread_cond_timedwait(cond, lock, &t);
}
