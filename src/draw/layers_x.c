/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How far to the right: each row in turn goes to the mean of what its vertices are linked to, as
 * far as the others in the row let it.  See layers_internal.h. */
#include "base/xalloc.h"
#include "draw/layers_internal.h"

/* Rounds: what is far from its place comes nearer by a part in each, so there are many; of large
 * graphs as many as are done in a moment. */
#define ROUNDS_MOST 800u
#define ROUNDS_LEAST 12u
#define FIRST_ROUNDS 6u
#define PULL                                                                                       \
	0.02 /* to the middle, so that parts without a link between them do not drift apart        \
	      */
#define STEPS 2000000u /* vertices that are placed, about */

/* A group of things that touch each other, and their common place. */
struct group {
	double sum, weight;
	size_t first;
};

void layers_spread(struct layers_wish *wishes, size_t count)
{
	auto_free struct group *groups = xcalloc(count + 1, sizeof(*groups));
	size_t n = 0;
	double offset = 0;

	/* Less the gaps that are before each, it is enough that nothing is left of the one before;
	 * neighbours that would be become one group at the mean of what they want. */
	for (size_t i = 0; i < count; i++) {
		const struct layers_wish *w = &wishes[i];

		offset += i ? w->gap : 0;
		groups[n++] = (struct group){ (w->want - offset) * w->weight, w->weight, i };
		while (n > 1 && groups[n - 2].sum / groups[n - 2].weight >
					groups[n - 1].sum / groups[n - 1].weight) {
			groups[n - 2].sum += groups[n - 1].sum;
			groups[n - 2].weight += groups[n - 1].weight;
			n--;
		}
	}
	offset = 0;
	for (size_t i = 0, g = 0; i < count; i++) {
		if (g + 1 < n && groups[g + 1].first == i)
			g++;
		offset += i ? wishes[i].gap : 0;
		wishes[i].x = groups[g].sum / groups[g].weight + offset;
	}
}

static double gap_between(const struct layers_plan *p, uint32_t a, uint32_t b)
{
	const struct layers_vertex *x = &p->vertices[a], *y = &p->vertices[b];
	bool boxes = x->edge == LAYERS_NONE && y->edge == LAYERS_NONE;

	return (x->width + y->width) / 2 + (boxes ? p->l->node_gap : p->l->line_gap);
}

static void add_side(const struct layers_plan *p, const struct layers_links *side, uint32_t v,
		     double *sum, double *weight)
{
	for (uint32_t k = side->start[v]; k < side->start[v + 1]; k++) {
		*sum += side->strength[k] * p->vertices[side->other[k]].x;
		*weight += side->strength[k];
	}
}

static void place_row(struct layers_plan *p, uint32_t row, bool up, bool down,
		      struct layers_wish *wishes)
{
	struct layers_row *r = &p->rows[row];

	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t v = r->vertices[i];
		double sum = 0, weight = 0;

		if (up)
			add_side(p, &p->up, v, &sum, &weight);
		if (down)
			add_side(p, &p->down, v, &sum, &weight);
		wishes[i] = (struct layers_wish){
			.want = weight > 0 ? sum / (weight + PULL) : p->vertices[v].x,
			.weight = weight + PULL,
			.gap = i ? gap_between(p, r->vertices[i - 1], v) : 0,
		};
	}
	layers_spread(wishes, r->count);
	for (uint32_t i = 0; i < r->count; i++)
		p->vertices[r->vertices[i]].x = wishes[i].x;
}

void layers_x(struct layers_plan *p)
{
	auto_free struct layers_wish *wishes = xcalloc((size_t)p->count + 1, sizeof(*wishes));
	unsigned rounds = STEPS / (p->count + 1);

	rounds = rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds;
	for (uint32_t r = 0; r < p->row_count; r++) {
		const struct layers_row *row = &p->rows[r];
		double x = 0;

		for (uint32_t i = 0; i < row->count; i++) {
			x += i ? gap_between(p, row->vertices[i - 1], row->vertices[i]) : 0;
			p->vertices[row->vertices[i]].x = x;
		}
		for (uint32_t i = 0; i < row->count; i++)
			p->vertices[row->vertices[i]].x -= x / 2;
	}
	/* First one side at a time, which moves things far; then both, which settles them: from
	 * then on the sum of what is not as it wants to be only becomes less. */
	for (unsigned i = 0; i < rounds; i++) {
		bool settle = i >= FIRST_ROUNDS;

		for (uint32_t k = 0; k < p->row_count; k++)
			if (i % 2)
				place_row(p, p->row_count - 1 - k, settle, true, wishes);
			else
				place_row(p, k, true, settle, wishes);
	}
}
