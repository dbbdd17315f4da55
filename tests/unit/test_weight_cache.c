/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cache of weights: what it keeps, what it gives up, and that it ends.  SIGALRM ends a test in
 * which it does not. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/weight_cache.h"

#define PATIENCE_S 20
/* So many rows are more than half of what is kept. */
#define LARGE ((uint32_t)(WEIGHT_CACHE_BYTES / sizeof(struct stack_weight) * 2 / 3))

static unsigned made;
static uint32_t rows_made;

static void make(struct stack_weights *ret_weights, const struct view *v,
		 const struct measuring *how, bool by_thread)
{
	made++;
	*ret_weights = (struct stack_weights){
		.rows = xcalloc(rows_made + 1, sizeof(*ret_weights->rows)),
		.count = rows_made,
		.total = { .bytes = how->at, .count = (uint64_t)how->measure },
	};
	if (rows_made)
		ret_weights->rows[0].stack = (uint32_t)how->measure + 1;
}

/* Was it made anew? */
static bool ask(struct weight_cache *cache, enum measure measure, uint64_t at, uint32_t rows)
{
	struct measuring how = { .measure = measure, .at = at };
	struct stack_weights w;
	unsigned before = made;

	rows_made = rows;
	weight_cache_get(cache, &w, NULL, &how, false, make);
	assert_int_equal(w.count, rows);
	assert_int_equal(w.total.bytes, at);
	assert_int_equal(w.total.count, measure);
	assert_true(!rows || w.rows[0].stack == (uint32_t)measure + 1);
	stack_weights_release(&w);
	return made > before;
}

/* Two that do not fit together, with free rows beside them: the older one makes room. */
static void gives_up_what_does_not_fit(void **state)
{
	struct weight_cache *cache = weight_cache_new();

	alarm(PATIENCE_S);
	assert_true(ask(cache, MEASURE_LEAKED, 1, LARGE));
	assert_true(ask(cache, MEASURE_PEAK, 1, LARGE));
	assert_false(ask(cache, MEASURE_PEAK, 1, LARGE));
	assert_true(ask(cache, MEASURE_LEAKED, 1, LARGE));
	assert_true(ask(cache, MEASURE_PEAK, 1, LARGE));
	alarm(0);
	weight_cache_free(cache);
}

static void does_not_keep_more_than_there_is_room_for(void **state)
{
	struct weight_cache *cache = weight_cache_new();

	alarm(PATIENCE_S);
	assert_true(ask(cache, MEASURE_LEAKED, 1, 1));
	assert_true(ask(cache, MEASURE_PEAK, 1, 2 * LARGE));
	assert_true(ask(cache, MEASURE_PEAK, 1, 2 * LARGE));
	assert_false(ask(cache, MEASURE_LEAKED, 1, 1));
	alarm(0);
	weight_cache_free(cache);
}

/* More questions than rows, of every size from nothing on. */
static void keeps_the_latest(void **state)
{
	struct weight_cache *cache = weight_cache_new();

	alarm(PATIENCE_S);
	for (uint64_t at = 1; at <= 3 * WEIGHT_CACHE_COUNT; at++)
		assert_true(ask(cache, MEASURE_ALIVE_AT, at, (uint32_t)at % 3 * (LARGE / 16)));
	for (uint64_t at = 3 * WEIGHT_CACHE_COUNT; at > 2 * WEIGHT_CACHE_COUNT; at--)
		assert_false(ask(cache, MEASURE_ALIVE_AT, at, (uint32_t)at % 3 * (LARGE / 16)));
	alarm(0);
	weight_cache_free(cache);
}

/* Half of what is asked for is not kept, and whoever asks next makes it. */
static void does_not_keep_what_was_cut_short(void **state)
{
	struct weight_cache *cache = weight_cache_new();
	atomic_bool given_up = true;

	alarm(PATIENCE_S);
	parallel_stop_when(&given_up);
	assert_true(ask(cache, MEASURE_PEAK, 1, 3));
	assert_true(ask(cache, MEASURE_PEAK, 1, 3));
	parallel_stop_when(NULL);
	assert_true(ask(cache, MEASURE_PEAK, 1, 5));
	assert_false(ask(cache, MEASURE_PEAK, 1, 5));
	alarm(0);
	weight_cache_free(cache);
}

UNIT(weight_cache)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_up_what_does_not_fit),
		cmocka_unit_test(does_not_keep_more_than_there_is_room_for),
		cmocka_unit_test(keeps_the_latest),
		cmocka_unit_test(does_not_keep_what_was_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
