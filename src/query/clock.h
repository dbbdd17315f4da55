/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Ticks and nanoseconds, both ways, so that a bound in ns becomes a bound on stamps once and no row
 * has to be converted.  Both directions go through the same arithmetic as model_ns(), so what a
 * filter compares is exactly what is shown.  Any thread: a loaded model is only read. */
#include <stdint.h>

#include "model/model.h"

/* Nanoseconds that so many ticks are. */
static inline uint64_t clock_duration_ns(const struct model_clock *c, uint64_t ticks)
{
	double ns = (double)ticks * c->ns_per_tick;

	return ns < 9e18 ? (uint64_t)ns : (uint64_t)9e18;
}

/* Nanoseconds from the start to a stamp. */
static inline uint64_t clock_ns(const struct model_clock *c, uint64_t stamp)
{
	return stamp <= c->start ? 0 : clock_duration_ns(c, stamp - c->start);
}

/* The least number of ticks that is so many nanoseconds; UINT64_MAX if there is none. */
uint64_t clock_ticks(const struct model_clock *c, uint64_t ns);
/* The first stamp that is so many nanoseconds after the start, or more. */
uint64_t clock_stamp(const struct model_clock *c, uint64_t ns);
