/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who is beside whom in a row: sweeps down and up by the mean place of neighbours, then neighbours
 * changed where fewer lines cross; the best order that was seen is kept.  See layers_internal.h. */
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "draw/layers_internal.h"

#define SWEEPS 24
#define SWEEPS_LARGE 6
#define LARGE 4000u /* vertices from which less is tried */

struct keyed {
	double key;
	uint32_t vertex, at;
};

ORDER(by_key, struct keyed, RISING(key) ?: RISING(at))

/* Links of the same vertex in the order of where they lead to. */
ORDER(by_place, uint32_t, COMPARE(*x, *y))

/* A first order: in depth from the top, so that what belongs together is together. */
static void order_first(struct layers_plan *p)
{
	auto_free uint8_t *seen = xcalloc((size_t)p->count + 1, 1);
	auto_free uint32_t *stack = xcalloc(p->count + p->link_count + 1, sizeof(*stack));
	size_t depth = 0;

	for (uint32_t r = 0; r < p->row_count; r++)
		p->rows[r].count = 0;
	for (uint32_t first = 0; first < p->count; first++) {
		if (seen[first] || p->up.start[first] != p->up.start[first + 1])
			continue;
		stack[depth++] = first;
		while (depth) {
			uint32_t v = stack[--depth];
			struct layers_row *r = &p->rows[p->vertices[v].row];

			if (seen[v])
				continue;
			seen[v] = 1;
			p->vertices[v].at = r->count;
			r->vertices[r->count++] = v;
			for (uint32_t k = p->down.start[v + 1]; k-- > p->down.start[v];)
				stack[depth++] = p->down.other[k];
		}
	}
}

/* Pairs of links between two rows that cross: of those that end before one that began earlier. */
static uint64_t crossings_below(const struct layers_plan *p, uint32_t row, uint32_t *positions,
				uint32_t *tree)
{
	const struct layers_row *upper = &p->rows[row];
	uint32_t width = row + 1 < p->row_count ? p->rows[row + 1].count : 0;
	uint64_t sum = 0, before = 0;

	memset(tree, 0, ((size_t)width + 1) * sizeof(*tree));
	for (uint32_t i = 0; i < upper->count; i++) {
		uint32_t v = upper->vertices[i], n = 0;

		for (uint32_t k = p->down.start[v]; k < p->down.start[v + 1]; k++)
			if (p->vertices[p->down.other[k]].row == row + 1)
				positions[n++] = p->vertices[p->down.other[k]].at;
		SORT(positions, n, by_place);
		for (uint32_t k = 0; k < n; k++) {
			uint64_t left = 0;

			for (uint32_t t = positions[k] + 1; t; t &= t - 1)
				left += tree[t];
			sum += before - left;
		}
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t t = positions[k] + 1; t <= width; t += t & -t)
				tree[t]++;
		before += n;
	}
	return sum;
}

static uint64_t crossings(const struct layers_plan *p)
{
	auto_free uint32_t *positions = xcalloc(p->link_count + 1, sizeof(*positions));
	auto_free uint32_t *tree = xcalloc((size_t)p->count + 2, sizeof(*tree));
	uint64_t sum = 0;

	for (uint32_t r = 0; r < p->row_count; r++)
		sum += crossings_below(p, r, positions, tree);
	return sum;
}

/* A row by the mean places of what its vertices are linked to on one side; those without stay. */
static void sweep_row(struct layers_plan *p, uint32_t row, const struct layers_links *side,
		      struct keyed *keys)
{
	struct layers_row *r = &p->rows[row];

	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t v = r->vertices[i], from = side->start[v], to = side->start[v + 1];
		double sum = 0;

		for (uint32_t k = from; k < to; k++) {
			const struct layers_vertex *o = &p->vertices[side->other[k]];

			/* Rows differ in length: places are parts of the whole. */
			sum += (o->at + 0.5) / p->rows[o->row].count;
		}
		keys[i] = (struct keyed){ to > from ? sum / (to - from) : (i + 0.5) / r->count, v,
					  i };
	}
	SORT(keys, r->count, by_key);
	for (uint32_t i = 0; i < r->count; i++) {
		r->vertices[i] = keys[i].vertex;
		p->vertices[keys[i].vertex].at = i;
	}
}

static void sweep(struct layers_plan *p, bool down, struct keyed *keys)
{
	for (uint32_t i = 0; i < p->row_count; i++)
		sweep_row(p, down ? i : p->row_count - 1 - i, down ? &p->up : &p->down, keys);
}

/* Crossings of the links of two neighbours, if `a` is left of `b`. */
static uint64_t crossings_of(const struct layers_plan *p, const struct layers_links *side,
			     uint32_t a, uint32_t b)
{
	uint64_t sum = 0;

	for (uint32_t i = side->start[a]; i < side->start[a + 1]; i++)
		for (uint32_t k = side->start[b]; k < side->start[b + 1]; k++)
			sum += p->vertices[side->other[i]].at > p->vertices[side->other[k]].at;
	return sum;
}

/* Changes neighbours where that helps; false if it helped nowhere. */
static bool change_neighbours(struct layers_plan *p)
{
	bool better = false;

	for (uint32_t r = 0; r < p->row_count; r++)
		for (uint32_t i = 0; i + 1 < p->rows[r].count; i++) {
			uint32_t *pair = p->rows[r].vertices + i, a = pair[0], b = pair[1];

			if (crossings_of(p, &p->up, a, b) + crossings_of(p, &p->down, a, b) <=
			    crossings_of(p, &p->up, b, a) + crossings_of(p, &p->down, b, a))
				continue;
			pair[0] = b;
			pair[1] = a;
			p->vertices[b].at = i;
			p->vertices[a].at = i + 1;
			better = true;
		}
	return better;
}

static void keep_order(const struct layers_plan *p, uint32_t *best)
{
	for (uint32_t i = 0; i < p->count; i++)
		best[i] = p->vertices[i].at;
}

void layers_order(struct layers_plan *p)
{
	auto_free uint32_t *best = xcalloc((size_t)p->count + 1, sizeof(*best));
	auto_free struct keyed *keys = xcalloc((size_t)p->count + 1, sizeof(*keys));
	unsigned sweeps = p->count < LARGE ? SWEEPS : SWEEPS_LARGE;
	uint64_t least;

	order_first(p);
	least = crossings(p);
	keep_order(p, best);
	for (unsigned i = 0; i < sweeps && least; i++) {
		uint64_t now;

		sweep(p, i % 2 == 0, keys);
		for (unsigned k = 0; k < 8 && p->count < LARGE && change_neighbours(p); k++)
			;
		now = crossings(p);
		if (now < least) {
			least = now;
			keep_order(p, best);
		}
	}
	for (uint32_t i = 0; i < p->count; i++) {
		p->vertices[i].at = best[i];
		p->rows[p->vertices[i].row].vertices[best[i]] = i;
	}
	p->l->crossings = least;
}
