/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Histograms against a look at every row for every bin. */
#include "unit.h"

#include <stdlib.h>

#include "query/histogram.h"
#include "random_recording.h"

#define ROUNDS 20

static struct view random_view(const struct model *m, uint64_t *state)
{
	struct view v = { .model = m };

	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t i = 0; i < m->allocations.count; i++)
		v.bits[i / 64] |= (uint64_t)random_below(state, 2) << i % 64;
	return v;
}

/* Does a row belong into a bin? */
static bool belongs(const struct histogram *h, const struct histogram_bin *bin,
		    const struct model *m, uint32_t row)
{
	const struct columns *c = &m->allocations;
	uint64_t value = columns_size(c, row);

	if (h->kind == HISTOGRAM_LIFETIME) {
		if (columns_freed_at(c, row) == NEVER || bin->never)
			return columns_freed_at(c, row) == NEVER && bin->never;
		/* A lifetime is at least so many ns if it has the ticks of so many. */
		value = columns_freed_at(c, row) - columns_allocated_at(c, row);
		return value >= measure_ticks(m, bin->from) &&
		       (bin->to == NEVER || value < measure_ticks(m, bin->to));
	}
	return value >= bin->from && value < bin->to;
}

static void check(const struct view *v, const struct measuring *how, const struct histogram *h)
{
	const struct columns *c = &v->model->allocations;
	struct weight all = { 0 }, exact = { 0 };

	for (unsigned i = 0; i < h->count; i++) {
		struct weight due = { 0 };
		uint64_t slack = 0;

		for (uint32_t row = 0; row < c->count; row++) {
			if (!view_has(v, row) || !measuring_takes(how, c, row) ||
			    !belongs(h, &h->bins[i], v->model, row))
				continue;
			due.bytes += columns_size(c, row);
			due.count++;
			slack += columns_slack(c, row);
		}
		assert_int_equal(h->bins[i].weight.bytes, due.bytes);
		assert_int_equal(h->bins[i].weight.count, due.count);
		assert_int_equal(h->bins[i].slack, slack);
		all.count += due.count;
		if (i && !h->bins[i].never)
			assert_int_equal(h->bins[i].from, h->bins[i - 1].to);
	}
	assert_int_equal(h->total.count, all.count);
	if (h->count) {
		assert_int_not_equal(h->bins[0].weight.count, 0);
		assert_int_not_equal(h->bins[h->count - 1].weight.count, 0);
	}
	for (uint32_t k = 0; k < h->size_count; k++) {
		uint64_t count = 0;

		for (uint32_t row = 0; row < c->count; row++)
			count += view_has(v, row) && measuring_takes(how, c, row) &&
				 columns_size(c, row) == h->sizes[k].size;
		assert_int_equal(h->sizes[k].weight.count, count);
		assert_int_equal(h->sizes[k].weight.bytes, count * h->sizes[k].size);
		exact.count += count;
		if (k)
			assert_true(h->sizes[k - 1].weight.bytes >= h->sizes[k].weight.bytes);
	}
	if (h->kind == HISTOGRAM_SIZE)
		assert_int_equal(exact.count, h->total.count);
}

static void histograms_are_exact(void **context)
{
	uint64_t state = 5;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = random_recording(
			&(struct random_options){ .seed = i + 1, .events = i * 40 });
		struct view v = random_view(m, &state);

		for (enum histogram_kind kind = 0; kind < HISTOGRAM_KINDS; kind++) {
			struct measuring how =
				measuring_of(m, random_below(&state, MEASURE_COUNT), 200);
			struct histogram h;

			histogram_init(&h, &v, &how, kind);
			check(&v, &how, &h);
			histogram_by_count(&h);
			for (uint32_t k = 1; k < h.size_count; k++)
				assert_true(h.sizes[k - 1].weight.count >= h.sizes[k].weight.count);
			histogram_release(&h);
		}
		free(v.bits);
		model_free(m);
	}
}

UNIT(histogram)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histograms_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
