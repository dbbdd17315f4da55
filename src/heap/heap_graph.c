/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs of calls.  See heap_graph.h. */
#include "heap/heap_graph.h"

#include <math.h>

#include "base/map.h"
#include "base/order.h"
#include "base/xalloc.h"

/* All arrows, while they are added up. */
struct adding {
	struct heap_graph *graph;
	const struct profile *profile;
	enum heap_measure measure;
	uint32_t *number; /* of a name's box plus one; 0: it is none */
	size_t room;
	struct map index;
};

static void add_edge(struct adding *a, uint32_t caller, uint32_t callee, size_t stack,
		     double amount)
{
	uint64_t key = (uint64_t)caller << 32 | callee, at;
	struct heap_graph *g = a->graph;

	if (map_number(&a->index, key, &at))
		*xpush(g->edges, g->edge_count, a->room) =
			(struct heap_edge){ .caller = caller, .callee = callee };
	if (g->edges[at].stack == stack + 1)
		return;
	g->edges[at].stack = stack + 1;
	g->edges[at].amount += amount;
}

/* Arrows lead from box to box: functions between them that are no boxes are passed over. */
static void add_stack(struct adding *a, size_t stack)
{
	const struct profile_stack *s = &a->profile->stacks[stack];
	const uint32_t *frames = a->profile->frames + s->frame;
	double amount = heap_amount(&s->amounts, a->measure);
	uint32_t callee = 0;

	for (size_t k = 0; k < s->frame_count; k++) {
		uint32_t box = a->number[frames[k]];

		if (!box)
			continue;
		if (callee && callee != box)
			add_edge(a, box - 1, callee - 1, stack, amount);
		callee = box;
	}
}

ORDER(by_amount, struct heap_edge, FALLING(amount) ?: RISING(caller) ?: RISING(callee))

static void choose_nodes(struct adding *a, const struct heap_report_options *o)
{
	struct heap_graph *g = a->graph;
	double least = fabs(g->total) * o->node_fraction;

	top_make(&g->top, a->profile, o->measure, true);
	g->functions = g->top.count;
	a->number = xcalloc((size_t)strings_count(&a->profile->names) + 1, sizeof(*a->number));
	for (size_t i = 0; i < g->top.count && g->nodes < o->node_count; i++) {
		if (fabs(heap_amount(&g->top.rows[i].cum, o->measure)) <= least)
			continue;
		g->top.rows[g->nodes] = g->top.rows[i];
		a->number[g->top.rows[i].name] = (uint32_t)++g->nodes;
	}
}

/* The strongest first; no box has more than max_degree in and out. */
static void choose_edges(struct heap_graph *g, const struct heap_report_options *o)
{
	auto_free uint64_t *in = xcalloc(g->nodes + 1, sizeof(*in));
	auto_free uint64_t *from = xcalloc(g->nodes + 1, sizeof(*from));
	size_t remaining = 0;

	g->calls = g->edge_count;
	SORT(g->edges, g->edge_count, by_amount);
	for (size_t i = 0; i < g->edge_count; i++) {
		const struct heap_edge e = g->edges[i];

		if (fabs(e.amount) <= fabs(g->total) * o->edge_fraction ||
		    (from[e.caller] >= o->max_degree && in[e.callee] >= o->max_degree))
			continue;
		from[e.caller]++;
		in[e.callee]++;
		g->edges[remaining++] = e;
	}
	g->edge_count = remaining;
}

void heap_graph_init(struct heap_graph *g, const struct profile *p,
		     const struct heap_report_options *o)
{
	struct adding a = { .graph = g, .profile = p, .measure = o->measure };

	*g = (struct heap_graph){ .total = heap_amount(&p->total, o->measure) };
	choose_nodes(&a, o);
	for (size_t i = 0; i < p->stack_count; i++)
		add_stack(&a, i);
	choose_edges(g, o);
	map_release(&a.index);
	free(a.number);
}

void heap_graph_release(struct heap_graph *g)
{
	top_release(&g->top);
	free(g->edges);
}
