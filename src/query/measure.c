/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The measures and their names.  See measure.h. */
#include "query/measure.h"

#include "base/nearest.h"
#include "query/blame.h"

const struct measure_row measure_rows[MEASURE_COUNT] = {
	[MEASURE_LEAKED] = { "leaked", "never freed", "what was never freed", false, false },
	[MEASURE_PEAK] = { "peak", "alive at the peak",
			   "what was alive when the whole program had most bytes", false, false },
	[MEASURE_ALLOCATED] = { "allocated", "allocated", "everything that was allocated", false,
				false },
	[MEASURE_TEMPORARY] = { "temporary", "temporary",
				"what its thread's next event freed again", false, false },
	[MEASURE_ALIVE_AT] = { "alive_at", "alive at a moment", "what was alive at a moment", true,
			       false },
	[MEASURE_SHORT_LIVED] = { "short_lived", "short-lived",
				  "what was freed before it reached an age", false, true },
	[MEASURE_PINNED] = { "pinned", "kept resident",
			     "resident memory by whose live blocks are in its pages; of those of "
			     "several, each has its part",
			     false, false },
};

enum measure measure_find(const char *name)
{
	enum measure m = 0;

	while (m < MEASURE_COUNT && !nearest_same(name, measure_rows[m].name))
		m++;
	return m;
}

/* Whatever model_ns() does with a clock, it never goes back: 64 steps find the stamp. */
uint64_t measure_stamp(const struct model *m, uint64_t ns)
{
	uint64_t low = 0, high = UINT64_MAX - 1;

	if (model_ns(m, high) <= ns)
		return high;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (model_ns(m, middle) <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t measure_ticks(const struct model *m, uint64_t ns)
{
	uint64_t zero = measure_stamp(m, 0), there = measure_stamp(m, ns);

	return there > zero ? there - zero : 0;
}

struct measuring measuring_of(const struct model *m, enum measure measure, uint64_t at_ns)
{
	struct measuring how = { .measure = measure };

	if (measure == MEASURE_PEAK)
		how.at = m->totals.peak_at;
	else if (measure == MEASURE_ALIVE_AT)
		how.at = measure_stamp(m, at_ns);
	else if (measure == MEASURE_SHORT_LIVED)
		how.at = measure_ticks(m, at_ns);
	else if (measure == MEASURE_PINNED)
		how.at = at_ns ? measure_stamp(m, at_ns) : blame_moment(m);
	return how;
}

bool measuring_may_take(const struct measuring *how, const struct columns *c, uint32_t first,
			uint32_t count)
{
	const struct row_groups *g;

	if (!c->packed || how->measure == MEASURE_ALLOCATED || how->measure == MEASURE_TEMPORARY ||
	    how->measure == MEASURE_SHORT_LIVED)
		return true;
	g = &c->packed->groups;
	for (uint32_t i = first >> g->bits; i <= (first + count - 1) >> g->bits; i++) {
		const struct row_group *group = &g->groups[i];

		if (group->alive)
			return true;
		if (how->measure != MEASURE_LEAKED && group->freed_high > how->at &&
		    group->pieces[PACKED_ALLOCATED_AT].low <= how->at)
			return true;
	}
	return false;
}

struct weight measuring_total(const struct model *m, const struct measuring *how)
{
	const struct columns *all = &m->allocations;
	struct columns_window w;
	struct weight sum = { 0 };

	EACH_WINDOW(at, n, 0, all->count)
	{
		const struct columns *c;

		if (!measuring_may_take(how, all, at, n))
			continue;
		c = columns_window(&w, all, at, n, WANT_size | measuring_wants(how));
		for (uint32_t i = at; i < at + n; i++) {
			if (!measuring_takes(how, c, i))
				continue;
			sum.bytes += columns_size(c, i);
			sum.count++;
		}
	}
	return sum;
}
