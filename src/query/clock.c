/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nanoseconds to ticks.  See clock.h. */
#include "query/clock.h"

uint64_t clock_ticks(const struct model_clock *c, uint64_t ns)
{
	uint64_t low = 0, high = UINT64_MAX - 1; /* low < answer <= high, unless it is 0 */

	if (!ns)
		return 0;
	if (clock_duration_ns(c, high) < ns)
		return UINT64_MAX;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (clock_duration_ns(c, middle) < ns)
			low = middle;
		else
			high = middle;
	}
	return high;
}

uint64_t clock_stamp(const struct model_clock *c, uint64_t ns)
{
	uint64_t ticks = clock_ticks(c, ns);

	return !ns ? 0 : ticks < UINT64_MAX - c->start ? c->start + ticks : UINT64_MAX;
}
