/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layered pictures of graphs that are all chance: nothing overlaps, and lines lead where they
 * should. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "draw/layers_internal.h"

#define NARROW 1e-6

static uint64_t state;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % limit;
}

static void make(struct layers *l, uint32_t nodes, uint32_t edges)
{
	uint32_t made = 0;

	*l = (struct layers){ .nodes = xcalloc(nodes + 1, sizeof(*l->nodes)),
			      .node_count = nodes,
			      .edges = xcalloc(edges + 1, sizeof(*l->edges)),
			      .node_gap = 16,
			      .line_gap = 10,
			      .row_gap = 17 };
	for (uint32_t i = 0; i < nodes; i++) {
		l->nodes[i].width = 40 + below(160);
		l->nodes[i].height = 20 + below(60);
	}
	for (uint32_t i = 0; nodes > 1 && i < edges; i++) {
		struct layers_edge e = { .from = below(nodes), .weight = below(100) / 100.0 };

		e.to = (e.from + 1 + below(nodes - 1)) % nodes;
		e.label_width = below(40);
		e.height = 12;
		l->edges[made++] = e;
	}
	l->edge_count = made;
}

static void release(struct layers *l)
{
	layers_release(l);
	free(l->nodes);
	free(l->edges);
}

static void check_boxes(const struct layers *l)
{
	for (size_t i = 0; i < l->node_count; i++) {
		const struct layers_node *a = &l->nodes[i];

		assert_true(a->x - a->width / 2 >= -NARROW);
		assert_true(a->x + a->width / 2 <= l->width + NARROW);
		assert_true(a->y >= 0 && a->y + a->height <= l->height + NARROW);
		for (size_t k = 0; k < i; k++) {
			const struct layers_node *b = &l->nodes[k];

			assert_true(fabs(a->x - b->x) >=
					    (a->width + b->width) / 2 + l->node_gap - NARROW ||
				    a->y + a->height <= b->y || b->y + b->height <= a->y);
		}
	}
}

/* No line passes a box on the way, and labels overlap nothing. */
static void check_pass(const struct layers *l, const struct layers_pass *p, double width)
{
	for (size_t i = 0; i < l->node_count; i++) {
		const struct layers_node *b = &l->nodes[i];

		assert_true(fabs(p->x - b->x) >= (b->width + width) / 2 + l->line_gap - NARROW ||
			    p->bottom <= b->y || p->top >= b->y + b->height);
	}
}

static void check_edge(const struct layers *l, const struct layers_edge *e)
{
	const struct layers_pass *p = &l->passes[e->pass], *end = p + e->pass_count - 1;
	const struct layers_node *upper = &l->nodes[e->turned ? e->to : e->from];
	const struct layers_node *lower = &l->nodes[e->turned ? e->from : e->to];

	assert_true(e->pass_count >= 3 && e->pass + e->pass_count <= l->pass_count);
	assert_true(fabs(p->x - upper->x) <= upper->width / 2);
	assert_true(fabs(end->x - lower->x) <= lower->width / 2);
	assert_true(fabs(p->top - upper->y - upper->height) < NARROW);
	assert_true(fabs(end->top - lower->y) < NARROW);
	assert_true(e->label > 0 && e->label + 1 < e->pass_count);
	for (const struct layers_pass *q = p; q < end; q++)
		assert_true(q->bottom >= q->top - NARROW &&
			    q[1].top >= q->bottom + l->row_gap - NARROW);
	for (size_t k = 1; k + 1 < e->pass_count; k++)
		check_pass(l, p + k, k == e->label ? e->label_width : 2);
}

static void check_labels(const struct layers *l)
{
	for (size_t i = 0; i < l->edge_count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct layers_edge *a = &l->edges[i], *b = &l->edges[k];
			const struct layers_pass *p = &l->passes[a->pass + a->label];
			const struct layers_pass *q = &l->passes[b->pass + b->label];

			assert_true(p->top != q->top ||
				    fabs(p->x - q->x) >=
					    (a->label_width + b->label_width) / 2 - NARROW);
		}
}

static void test_nothing_overlaps(void **context)
{
	for (unsigned round = 0; round < 60; round++) {
		struct layers l, again;
		uint32_t nodes = round < 3 ? round : 2 + round, edges = round < 2 ? 0 : round * 2;

		state = round + 1;
		make(&l, nodes, edges);
		layers_place(&l);
		assert_int_equal(l.node_count, nodes);
		check_boxes(&l);
		for (size_t i = 0; i < l.edge_count; i++)
			check_edge(&l, &l.edges[i]);
		check_labels(&l);
		/* The same graph, the same picture. */
		state = round + 1;
		make(&again, nodes, edges);
		layers_place(&again);
		assert_memory_equal(l.nodes, again.nodes, nodes * sizeof(*l.nodes));
		assert_int_equal(l.pass_count, again.pass_count);
		release(&l);
		release(&again);
	}
}

/* A tree has no line that leads up and none that crosses another. */
static void test_trees(void **context)
{
	for (unsigned round = 1; round < 30; round++) {
		struct layers l;

		state = round;
		make(&l, round * 3, round * 3 - 1);
		for (uint32_t i = 0; i < l.edge_count; i++) {
			l.edges[i].to = i + 1;
			l.edges[i].from = below(i + 1);
		}
		layers_place(&l);
		check_boxes(&l);
		for (size_t i = 0; i < l.edge_count; i++)
			assert_false(l.edges[i].turned);
		assert_int_equal(l.crossings, 0);
		release(&l);
	}
}

/* Of functions that call each other in a circle, one call leads up. */
static void test_circle(void **context)
{
	struct layers l;
	unsigned turned = 0;

	state = 5;
	make(&l, 6, 6);
	for (uint32_t i = 0; i < 6; i++) {
		l.edges[i].from = i;
		l.edges[i].to = (i + 1) % 6;
	}
	layers_place(&l);
	check_boxes(&l);
	for (uint32_t i = 0; i < 6; i++) {
		check_edge(&l, &l.edges[i]);
		turned += l.edges[i].turned;
	}
	assert_int_equal(turned, 1);
	release(&l);
}

/* More lines than there is room for in rows: still every box has its own place. */
static void test_large(void **context)
{
	struct layers l;

	state = 9;
	make(&l, 700, 6000);
	layers_place(&l);
	check_boxes(&l);
	for (size_t i = 0; i < l.edge_count; i++)
		assert_true(l.edges[i].pass_count == 3);
	release(&l);
}

static void test_spread(void **context)
{
	struct layers_wish w[] = {
		{ 10, 1, 0, 0 }, { 10, 1, 4, 0 }, { 0, 2, 4, 0 }, { 50, 1, 4, 0 }
	};

	/* The first three touch, around the mean of 10, 10 - 4 and twice 0 - 8. */
	layers_spread(w, 4);
	assert_true(fabs(w[0].x - 0) < 1e-9 && fabs(w[1].x - 4) < 1e-9 && fabs(w[2].x - 8) < 1e-9);
	assert_true(fabs(w[3].x - 50) < 1e-9);
	layers_spread(NULL, 0);
}

UNIT(layered)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_overlaps), cmocka_unit_test(test_trees),
		cmocka_unit_test(test_circle),		 cmocka_unit_test(test_large),
		cmocka_unit_test(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
