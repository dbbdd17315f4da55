/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows of a layered picture.  See layers.h.
 *
 * Cycles are opened by turning those edges that close one; the row of a box is the longest way to
 * it, moved down where that makes heavy edges shorter; rows of boxes are the even ones, so that
 * each edge has an odd row between its ends for its label. */
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "draw/layers_internal.h"

/* With more places of edges in rows than this, those that pass rows go straight across. */
#define PASSES_MOST 60000u
#define PULLS 8 /* rounds in which boxes are moved down */

/* Edges by the end that comes first. */
struct outgoing {
	uint32_t *start, *edges;
};

static uint32_t upper_end(const struct layers_edge *e)
{
	return e->turned ? e->to : e->from;
}

static uint32_t lower_end(const struct layers_edge *e)
{
	return e->turned ? e->from : e->to;
}

static void outgoing_init(struct outgoing *o, const struct layers *l)
{
	o->start = xcalloc(l->node_count + 2, sizeof(*o->start));
	o->edges = xcalloc(l->edge_count + 1, sizeof(*o->edges));
	for (size_t i = 0; i < l->edge_count; i++)
		o->start[upper_end(&l->edges[i]) + 2]++;
	for (size_t i = 2; i < l->node_count + 2; i++)
		o->start[i] += o->start[i - 1];
	for (size_t i = 0; i < l->edge_count; i++)
		o->edges[o->start[upper_end(&l->edges[i]) + 1]++] = (uint32_t)i;
}

static void outgoing_release(struct outgoing *o)
{
	free(o->start);
	free(o->edges);
}

/* From `first` on, in depth: an edge to a box that is still open closes a cycle. */
static void open_cycles_from(struct layers *l, const struct outgoing *o, uint32_t first,
			     uint8_t *state, uint32_t *next, uint32_t *stack)
{
	size_t depth = 0;

	stack[depth++] = first;
	state[first] = 1;
	while (depth) {
		uint32_t at = stack[depth - 1];
		struct layers_edge *e;

		if (next[at] == o->start[at + 1]) {
			state[at] = 2;
			depth--;
			continue;
		}
		e = &l->edges[o->edges[next[at]++]];
		if (state[e->to] == 1) {
			e->turned = true;
		} else if (!state[e->to]) {
			state[e->to] = 1;
			stack[depth++] = e->to;
		}
	}
}

/* Boxes that nobody calls come first, so that ways begin there. */
static void open_cycles(struct layers *l)
{
	auto_free uint8_t *state = xcalloc(l->node_count + 1, 1);
	auto_free uint8_t *called = xcalloc(l->node_count + 1, 1);
	auto_free uint32_t *stack = xcalloc(l->node_count + 1, sizeof(*stack));
	auto_free uint32_t *next = xcalloc(l->node_count + 1, sizeof(*next));
	auto_release(outgoing_release) struct outgoing o = { 0 };

	outgoing_init(&o, l);
	for (size_t i = 0; i < l->node_count; i++)
		next[i] = o.start[i];
	for (size_t i = 0; i < l->edge_count; i++)
		called[l->edges[i].to] = 1;
	for (int uncalled = 1; uncalled >= 0; uncalled--)
		for (size_t i = 0; i < l->node_count; i++)
			if (!state[i] && (!uncalled || !called[i]))
				open_cycles_from(l, &o, (uint32_t)i, state, next, stack);
}

/* Boxes so that each is behind all that lead to it, and the longest way to each. */
static uint32_t *sort_boxes(const struct layers *l, const struct outgoing *o, uint32_t *row)
{
	uint32_t *order = xcalloc(l->node_count + 1, sizeof(*order));
	auto_free uint32_t *waits = xcalloc(l->node_count + 1, sizeof(*waits));
	size_t count = 0;

	for (size_t i = 0; i < l->edge_count; i++)
		waits[lower_end(&l->edges[i])]++;
	for (size_t i = 0; i < l->node_count; i++)
		if (!waits[i])
			order[count++] = (uint32_t)i;
	for (size_t done = 0; done < count; done++) {
		uint32_t at = order[done];

		for (uint32_t k = o->start[at]; k < o->start[at + 1]; k++) {
			uint32_t to = lower_end(&l->edges[o->edges[k]]);

			row[to] = row[to] > row[at] + 1 ? row[to] : row[at] + 1;
			if (!--waits[to])
				order[count++] = to;
		}
	}
	return order;
}

/* A box that is held from below more than from above goes as far down as it can. */
static void pull_down(const struct layers *l, const struct outgoing *o, const uint32_t *order,
		      uint32_t *row)
{
	auto_free double *above = xcalloc(l->node_count + 1, sizeof(*above));

	for (size_t i = 0; i < l->edge_count; i++)
		above[lower_end(&l->edges[i])] += l->edges[i].weight + 1e-3;
	for (size_t i = l->node_count; i-- > 0;) {
		uint32_t at = order[i], lowest = UINT32_MAX;
		double below = 0;

		for (uint32_t k = o->start[at]; k < o->start[at + 1]; k++) {
			const struct layers_edge *e = &l->edges[o->edges[k]];

			below += e->weight + 1e-3;
			lowest = row[lower_end(e)] < lowest ? row[lower_end(e)] : lowest;
		}
		if (lowest != UINT32_MAX && below > above[at])
			row[at] = lowest - 1;
	}
}

static uint32_t add_vertex(struct layers_plan *p, const struct layers_vertex *v)
{
	*xpush(p->vertices, p->count, p->room) = *v;
	return p->count - 1;
}

static void add_link(struct layers_plan *p, uint32_t upper, uint32_t lower, double strength)
{
	*xpush(p->links, p->link_count, p->link_room) =
		(struct layers_link){ upper, lower, strength };
}

/* Places of an edge in the rows between its ends. */
static void add_edge(struct layers_plan *p, uint32_t number, bool straight)
{
	struct layers_edge *e = &p->l->edges[number];
	uint32_t last = upper_end(e), end = lower_end(e);
	uint32_t from = p->vertices[last].row + 1, to = p->vertices[end].row;
	uint32_t middle = from + ((to - from) / 4) * 2; /* odd: a row of labels */
	double heavy = 1 + 4 * e->weight;

	for (uint32_t row = straight ? middle : from; row < to; row += straight ? to : 1) {
		struct layers_vertex v = { .row = row, .edge = number, .width = 2 };
		uint32_t at;

		if (row == middle) {
			v.width = e->label_width > 2 ? e->label_width : 2;
			v.height = e->height;
			e->label = row - from;
		}
		at = add_vertex(p, &v);
		/* Between two places of an edge nothing but a straight line will do. */
		add_link(p, last, at, heavy * (last < p->l->node_count ? 2 : 8));
		last = at;
	}
	if (straight)
		e->label = 0;
	add_link(p, last, end, heavy * 2);
}

static void find_rows(struct layers_plan *p)
{
	struct layers *l = p->l;
	auto_free uint32_t *row = xcalloc(l->node_count + 1, sizeof(*row));
	auto_free uint32_t *order = NULL;
	uint64_t passes = 0;
	auto_release(outgoing_release) struct outgoing o = { 0 };

	outgoing_init(&o, l);
	order = sort_boxes(l, &o, row);
	for (unsigned i = 0; i < PULLS; i++)
		pull_down(l, &o, order, row);
	for (size_t i = 0; i < l->node_count; i++) {
		add_vertex(p, &(struct layers_vertex){ .row = row[i] * 2,
						       .edge = LAYERS_NONE,
						       .width = l->nodes[i].width,
						       .height = l->nodes[i].height });
		if (row[i] * 2 >= p->row_count)
			p->row_count = row[i] * 2 + 1;
	}
	for (size_t i = 0; i < l->edge_count; i++)
		passes += 2 * (row[lower_end(&l->edges[i])] - row[upper_end(&l->edges[i])]) - 1;
	for (size_t i = 0; i < l->edge_count; i++)
		add_edge(p, (uint32_t)i, passes > PASSES_MOST);
}

static void links_init(struct layers_links *s, const struct layers_plan *p, bool down)
{
	s->start = xcalloc((size_t)p->count + 2, sizeof(*s->start));
	s->other = xcalloc(p->link_count + 1, sizeof(*s->other));
	s->strength = xcalloc(p->link_count + 1, sizeof(*s->strength));
	for (size_t i = 0; i < p->link_count; i++)
		s->start[(down ? p->links[i].upper : p->links[i].lower) + 2]++;
	for (size_t i = 2; i < (size_t)p->count + 2; i++)
		s->start[i] += s->start[i - 1];
	for (size_t i = 0; i < p->link_count; i++) {
		const struct layers_link *k = &p->links[i];
		uint32_t at = s->start[(down ? k->upper : k->lower) + 1]++;

		s->other[at] = down ? k->lower : k->upper;
		s->strength[at] = k->strength;
	}
}

static void links_release(struct layers_links *s)
{
	free(s->start);
	free(s->other);
	free(s->strength);
}

static void fill_rows(struct layers_plan *p)
{
	p->rows = xcalloc((size_t)p->row_count + 1, sizeof(*p->rows));
	for (uint32_t i = 0; i < p->count; i++)
		p->rows[p->vertices[i].row].count++;
	for (uint32_t r = 0; r < p->row_count; r++) {
		p->rows[r].vertices =
			xcalloc((size_t)p->rows[r].count + 1, sizeof(*p->rows[r].vertices));
		p->rows[r].count = 0;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		struct layers_row *r = &p->rows[p->vertices[i].row];

		p->vertices[i].at = r->count;
		r->vertices[r->count++] = i;
	}
}

/* From the top on; and all to the right of 0. */
static void place_rows(struct layers_plan *p)
{
	struct layers *l = p->l;
	double left = 0, right = 0, y = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct layers_vertex *v = &p->vertices[i];
		struct layers_row *r = &p->rows[v->row];

		left = !i || v->x - v->width / 2 < left ? v->x - v->width / 2 : left;
		right = !i || v->x + v->width / 2 > right ? v->x + v->width / 2 : right;
		r->height = v->height > r->height ? v->height : r->height;
	}
	for (uint32_t i = 0; i < p->count; i++)
		p->vertices[i].x -= left;
	for (uint32_t r = 0; r < p->row_count; r++) {
		p->rows[r].top = y;
		y += p->rows[r].height + (r + 1 < p->row_count ? l->row_gap : 0);
	}
	l->width = right - left;
	l->height = y;
	for (size_t i = 0; i < l->node_count; i++) {
		l->nodes[i].x = p->vertices[i].x;
		l->nodes[i].y = p->rows[p->vertices[i].row].top;
	}
}

static void add_pass(struct layers *l, double x, double top, double bottom)
{
	*xpush(l->passes, l->pass_count, l->pass_room) = (struct layers_pass){ x, top, bottom };
}

/* An end of an edge at a box. */
struct port {
	uint32_t box, edge;
	double want; /* where the line comes from */
};

ORDER(by_box, struct port, RISING(box) ?: RISING(want) ?: RISING(edge))

/* Ends at the same side of a box, each as near to its line as the others and the box's edges let it
 * be. */
static void place_ports(struct layers *l, struct port *ports, bool upper)
{
	auto_free struct layers_wish *wishes = xcalloc(l->edge_count + 1, sizeof(*wishes));

	SORT(ports, l->edge_count, by_box);
	for (size_t i = 0, n; i < l->edge_count; i += n) {
		const struct layers_node *box = &l->nodes[ports[i].box];
		double room = box->width / 2 - fmin(8, box->width / 4);

		for (n = 0; i + n < l->edge_count && ports[i + n].box == ports[i].box; n++)
			;
		for (size_t k = 0; k < n; k++)
			wishes[k] = (struct layers_wish){
				.want = fmax(box->x - room, fmin(box->x + room, ports[i + k].want)),
				.weight = 1,
				.gap = fmin(10, 2 * room / (double)n),
			};
		layers_spread(wishes, n);
		for (size_t k = 0; k < n; k++) {
			const struct layers_edge *e = &l->edges[ports[i + k].edge];
			struct layers_pass *end =
				&l->passes[e->pass + (upper ? 0 : e->pass_count - 1)];

			end->x = fmax(box->x - room, fmin(box->x + room, wishes[k].x));
		}
	}
}

/* Where lines go: out of a box, down to the end of its row, through the rows between, into a box.
 */
static void place_edges(struct layers_plan *p)
{
	struct layers *l = p->l;
	auto_free struct port *tails = xcalloc(l->edge_count + 1, sizeof(*tails));
	auto_free struct port *heads = xcalloc(l->edge_count + 1, sizeof(*heads));
	uint32_t at = (uint32_t)l->node_count;

	/* Vertices of an edge follow each other, as they were made. */
	for (size_t i = 0; i < l->edge_count; i++) {
		struct layers_edge *e = &l->edges[i];
		uint32_t upper = upper_end(e), lower = lower_end(e);
		const struct layers_row *first = &p->rows[p->vertices[upper].row];
		double top = p->rows[p->vertices[lower].row].top;

		e->pass = l->pass_count;
		add_pass(l, 0, first->top + p->vertices[upper].height, first->top + first->height);
		for (; at < p->count && p->vertices[at].edge == i; at++) {
			const struct layers_row *r = &p->rows[p->vertices[at].row];

			add_pass(l, p->vertices[at].x, r->top, r->top + r->height);
		}
		add_pass(l, 0, top, top);
		e->pass_count = l->pass_count - e->pass;
		e->label++;
		tails[i] = (struct port){ upper, (uint32_t)i, l->passes[e->pass + 1].x };
		heads[i] = (struct port){ lower, (uint32_t)i, l->passes[l->pass_count - 2].x };
	}
	place_ports(l, tails, true);
	place_ports(l, heads, false);
}

void layers_place(struct layers *l)
{
	struct layers_plan p = { .l = l };

	open_cycles(l);
	find_rows(&p);
	links_init(&p.up, &p, false);
	links_init(&p.down, &p, true);
	fill_rows(&p);
	layers_order(&p);
	layers_x(&p);
	place_rows(&p);
	place_edges(&p);
	for (uint32_t r = 0; r < p.row_count; r++)
		free(p.rows[r].vertices);
	free(p.rows);
	free(p.vertices);
	free(p.links);
	links_release(&p.up);
	links_release(&p.down);
}

void layers_release(struct layers *l)
{
	free(l->passes);
	l->passes = NULL;
	l->pass_count = l->pass_room = 0;
}
