/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What time it is, as one number. */
#include <stdint.h>
#include <time.h>

static inline uint64_t now_on(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Since some moment in the past, whatever happens to the system's time. */
static inline uint64_t now_ns(void)
{
	return now_on(CLOCK_MONOTONIC);
}

static inline int64_t now_ms(void)
{
	return (int64_t)(now_ns() / 1000000);
}
