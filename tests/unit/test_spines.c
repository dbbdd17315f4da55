/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs of the trie against climbing from node to node: tries of many shapes, with gaps, in whole
 * and of some stacks only. */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "query/spines.h"
#include "random_recording.h"

#define NODES 3000u
#define PAIRS 4000u

/* Parents from all before (bushy), mostly the last one (deep), or one of a few. */
static void make(struct nodes *n, unsigned shape, uint64_t *seed)
{
	for (uint32_t i = 1; i < n->count; i++) {
		uint32_t back = shape == 0 ? 1 + random_below(seed, i)
				: shape == 1
					? 1 + (random_below(seed, 50) ? 0 : random_below(seed, i))
					: 1 + random_below(seed, i < 9 ? i : 9);

		n->parent[i] = i - back;
		n->frame[i] = random_below(seed, 40) ? 1000 + i : 0;
	}
}

static uint32_t known(const struct nodes *n, uint32_t i)
{
	return i && i < n->count && n->frame[i] ? i : 0;
}

/* From the outermost on; returns how many. */
static uint32_t climb(const struct nodes *n, uint32_t node, uint32_t *path)
{
	uint32_t count = 0;

	for (node = known(n, node); node; node = known(n, n->parent[node]))
		path[count++] = node;
	for (uint32_t i = 0; i < count / 2; i++) {
		uint32_t swap = path[i];

		path[i] = path[count - 1 - i];
		path[count - 1 - i] = swap;
	}
	return count;
}

static void check_runs(const struct spines *s, const uint32_t *path, uint32_t depth,
		       uint32_t outside)
{
	struct spine_run runs[SPINES_RUNS];
	unsigned count = spines_runs(s, depth ? path[depth - 1] : 0, outside, runs);
	uint32_t at = outside;

	assert_true(count < SPINES_RUNS);
	for (unsigned i = 0; i < count; i++) {
		assert_true(runs[i].count);
		for (uint32_t k = 0; k < runs[i].count; k++, at++)
			assert_int_equal(s->order[runs[i].first + k], path[at]);
	}
	assert_int_equal(at, depth > outside ? depth : outside);
}

static void check(const struct nodes *n, const uint8_t *wanted, uint64_t *seed)
{
	uint32_t *a_path = xcalloc(n->count, sizeof(*a_path));
	uint32_t *b_path = xcalloc(n->count, sizeof(*b_path)), deepest = 0;
	struct spines s;

	spines_init(&s, n, wanted);
	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t a = random_below(seed, n->count + 5), b = random_below(seed, n->count);
		uint32_t a_depth = climb(n, a, a_path), b_depth = climb(n, b, b_path), common = 0;

		if (wanted && ((a < n->count && !wanted[a]) || !wanted[b]))
			continue;
		assert_int_equal(spines_known(&s, a), known(n, a));
		a = spines_known(&s, a);
		b = spines_known(&s, b);
		while (common < a_depth && common < b_depth && a_path[common] == b_path[common])
			common++;
		assert_int_equal(s.of[a].depth, a_depth);
		assert_int_equal(spines_common(&s, a, b), common ? a_path[common - 1] : 0);
		check_runs(&s, a_path, a_depth, 0);
		check_runs(&s, a_path, a_depth, common);
		deepest = a_depth > deepest ? a_depth : deepest;
	}
	assert_true(s.deepest >= deepest);
	spines_release(&s);
	free(a_path);
	free(b_path);
}

static void as_climbed(void **context)
{
	uint64_t seed = 42;

	for (unsigned shape = 0; shape < 3; shape++) {
		struct nodes n = { .count = NODES };
		uint8_t *wanted = xcalloc(NODES, 1);

		n.frame = xcalloc(NODES, sizeof(*n.frame));
		n.parent = xcalloc(NODES, sizeof(*n.parent));
		make(&n, shape, &seed);
		check(&n, NULL, &seed);
		for (uint32_t i = 0; i < NODES; i++)
			wanted[i] = !random_below(&seed, 3);
		check(&n, wanted, &seed);
		free(n.frame);
		free(n.parent);
		free(wanted);
	}
}

/* Nodes that nobody asked for have no place. */
static void only_what_is_wanted(void **context)
{
	uint64_t frames[] = { 0, 1, 1, 1, 1, 1 };
	uint32_t parents[] = { 0, 0, 1, 2, 1, 0 };
	uint8_t wanted[] = { 0, 0, 0, 1, 0, 0 };
	struct nodes n = { .frame = frames, .parent = parents, .count = 6 };
	struct spines s;

	spines_init(&s, &n, wanted);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.deepest, 3);
	assert_int_equal(spines_known(&s, 3), 3);
	assert_int_equal(spines_known(&s, 4), 0);
	assert_int_equal(spines_known(&s, 5), 0);
	spines_release(&s);
	n.count = 0;
	spines_init(&s, &n, NULL);
	assert_int_equal(s.count, 0);
	assert_int_equal(spines_known(&s, 0), 0);
	spines_release(&s);
}

UNIT(spines)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_climbed),
		cmocka_unit_test(only_what_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
