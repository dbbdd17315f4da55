/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The clock that stamps events, read in the collector, and how it relates to the system's. */
#include <stdint.h>

#include "base/now.h"
#include "wire/arch.h"
#include "wire/shm.h"

/* Now, in the recorder's ticks.  Loads that stand after it in the program happen after it: what a
 * ring is found to hold then is no older than the stamp. */
static inline uint64_t clock_stamp(uint32_t clock)
{
	if (clock == CLOCK_TICKS)
		return arch_ticks_before_loads();
	return now_ns();
}

struct clock_reading {
	uint64_t stamp, monotonic_ns, realtime_ns;
};

/* The same instant on all three clocks: the tightest of a few tries. */
static inline struct clock_reading clock_read(uint32_t clock)
{
	struct clock_reading best = { 0 };
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = now_ns();
		uint64_t stamp = clock_stamp(clock);
		uint64_t realtime = now_on(CLOCK_REALTIME);
		uint64_t after = now_ns();

		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		best.stamp = stamp;
		best.realtime_ns = realtime;
		best.monotonic_ns = clock == CLOCK_TICKS ? before + (after - before) / 2 : stamp;
	}
	return best;
}
