/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fragmentation against a table of all regions that is filled block by block. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/stats.h"
#include "query/fragmentation.h"
#include "query/series.h"
#include "random_recording.h"

#define ROUNDS 16
#define BASE 0x7f0000000000ull
#define SPAN (64ull << 20)
#define OUTSIDE UINT32_MAX

struct counted_region {
	uint64_t live;
	uint32_t holder; /* a stack */
	uint32_t holders;
};

/* The regions of one level at one moment; those of several stacks count them one by one. */
static struct counted_region *brute_regions(const struct view *v, uint64_t at, unsigned shift,
					    uint32_t stacks)
{
	const struct columns *c = &v->model->allocations;
	uint64_t size = 1ull << shift, count = SPAN >> shift;
	struct counted_region *r = xcalloc(count, sizeof(*r));
	uint8_t *seen = xcalloc(count * (stacks + 1), 1);

	for (uint32_t row = 0; row < c->count; row++) {
		uint64_t from = columns_address(c, row) - BASE, to;
		uint32_t stack = view_has(v, row) ? columns_stack(c, row) : OUTSIDE;

		to = from + columns_size(c, row) + columns_slack(c, row);
		if (columns_allocated_at(c, row) > at || columns_freed_at(c, row) <= at)
			continue;
		assert_true(to <= SPAN);
		for (uint64_t i = from / size; i * size < to; i++) {
			uint64_t a = from > i * size ? from : i * size;
			uint64_t b = to < (i + 1) * size ? to : (i + 1) * size;
			uint8_t *mark =
				&seen[i * (stacks + 1) + (stack == OUTSIDE ? stacks : stack)];

			if (a == b)
				continue;
			r[i].live += b - a;
			r[i].holders += !*mark;
			r[i].holder = stack;
			*mark = 1;
		}
	}
	free(seen);
	return r;
}

static const struct holder *holder_of(const struct fragmentation *f, uint32_t stack)
{
	for (uint32_t i = 0; i < f->holder_count; i++)
		if (f->holders[i].stack == stack)
			return &f->holders[i];
	return NULL;
}

static void check_level(const struct view *v, const struct fragmentation *f, unsigned level)
{
	unsigned shift = level_rows[level].shift;
	uint32_t stacks = v->model->tables.nodes.count;
	struct counted_region *r = brute_regions(v, f->at, shift, stacks);
	uint64_t *pinned = xcalloc(stacks, sizeof(*pinned));
	struct occupancy due = { 0 };

	for (uint64_t i = 0; i < SPAN >> shift; i++) {
		uint64_t empty = (1ull << shift) - r[i].live;
		unsigned bin = (unsigned)(r[i].live * 10 >> shift);

		if (!r[i].live)
			continue;
		due.regions++;
		due.live_bytes += r[i].live;
		due.empty_bytes += empty;
		due.nearly_empty += r[i].live * 10 < 1ull << shift;
		due.bins[bin < 10 ? bin : 9].regions++;
		if (r[i].holders == 1 && r[i].holder != OUTSIDE)
			pinned[r[i].holder] += empty;
	}
	assert_int_equal(f->levels[level].regions, due.regions);
	assert_int_equal(f->levels[level].live_bytes, due.live_bytes);
	assert_int_equal(f->levels[level].empty_bytes, due.empty_bytes);
	assert_int_equal(f->levels[level].nearly_empty, due.nearly_empty);
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++)
		assert_int_equal(f->levels[level].bins[i].regions, due.bins[i].regions);
	for (uint32_t stack = 0; stack < stacks; stack++) {
		const struct holder *h = holder_of(f, stack);

		assert_int_equal(h ? h->held[level].pinned_bytes : 0, pinned[stack]);
	}
	free(pinned);
	free(r);
}

static struct view random_view(const struct model *m, uint64_t *state, bool all)
{
	struct view v = { .model = m };

	if (all)
		return v;
	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t i = 0; i < m->allocations.count; i++)
		v.bits[i / 64] |= (uint64_t)random_below(state, 2) << i % 64;
	return v;
}

static void random_moments_are_exact(void **context)
{
	uint64_t state = 31, from, to, pinned = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = random_recording(
			&(struct random_options){ .seed = i + 1, .events = i * 50 });
		struct view v = random_view(m, &state, i % 2);
		const struct columns *c = &m->allocations;
		uint64_t slack = 0, bytes = 0, classes = 0;
		struct fragmentation f;

		series_whole(m, &from, &to);
		fragmentation_init(&f, &v, from + random_below(&state, (uint32_t)(to - from)));
		for (unsigned level = 0; level < LEVELS; level++)
			check_level(&v, &f, level);
		for (uint32_t row = 0; row < c->count; row++) {
			if (!view_has(&v, row) || columns_allocated_at(c, row) > f.at ||
			    columns_freed_at(c, row) <= f.at)
				continue;
			slack += columns_slack(c, row);
			bytes += columns_size(c, row);
		}
		assert_int_equal(f.slack, slack);
		assert_int_equal(f.live.bytes, bytes);
		for (unsigned k = 0; k < SLACK_CLASSES; k++)
			classes += f.classes[k].slack;
		assert_int_equal(classes, slack);
		for (uint32_t k = 0; k < f.holder_count; k++)
			slack -= f.holders[k].slack,
				pinned += f.holders[k].held[LEVEL_64K].pinned_bytes;
		assert_int_equal(slack, 0);
		fragmentation_release(&f);
		free(v.bits);
		model_free(m);
	}
	assert_true(pinned > 100000);
}

static uint64_t regions_at(const struct model *m, uint64_t at, unsigned shift)
{
	struct view all = { .model = m };
	struct counted_region *r = brute_regions(&all, at, shift, m->tables.nodes.count);
	uint64_t count = 0;

	for (uint64_t i = 0; i < SPAN >> shift; i++)
		count += r[i].live != 0;
	free(r);
	return count;
}

static void series_are_exact(void **context)
{
	uint64_t state = 8, checked = 0;

	for (unsigned i = 1; i < 8; i++) {
		struct model *m =
			random_recording(&(struct random_options){ .seed = i, .events = i * 20 });
		uint32_t count = 1 + random_below(&state, 6);
		struct fragmentation_point *points = xcalloc(count, sizeof(*points));
		const struct columns *c = &m->allocations;
		uint64_t from, to;

		series_whole(m, &from, &to);
		if (i % 2)
			from += (to - from) / 3;
		fragmentation_series(m, from, to, count, points);
		for (uint32_t b = 0; b < count; b++) {
			uint64_t start = from + (to - from) * b / count;
			uint64_t most = regions_at(m, start - 1, 12);

			assert_int_equal(points[b].at, from + (to - from) * (b + 1) / count - 1);
			for (unsigned level = 0; level < LEVELS; level++)
				assert_int_equal(
					points[b].regions[level],
					regions_at(m, points[b].at, level_rows[level].shift));
			for (uint32_t row = 0; row < c->count; row++) {
				uint64_t at = columns_allocated_at(c, row), there;

				if (at < start || at > points[b].at)
					continue;
				there = regions_at(m, at, 12);
				checked += there;
				most = there > most ? there : most;
			}
			assert_int_equal(points[b].most_regions[LEVEL_PAGE], most);
		}
		free(points);
		model_free(m);
	}
	assert_true(checked > 1000);
}

UNIT(fragmentation)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_moments_are_exact),
		cmocka_unit_test(series_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
