/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The graph of calls for Graphviz: a box for each function that holds enough, an arrow for what
 * passes from caller to callee.  Boxes grow with what a function holds itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "heap/report.h"

struct edge {
	uint32_t caller, callee; /* names */
	double amount;
	size_t last; /* the stack that it was counted for last, plus one: recursion counts once */
};

struct graph {
	const struct profile *profile;
	const struct heap_report_options *options;
	struct top top; /* the first `nodes` are boxes */
	size_t nodes;
	uint32_t *number; /* of a name's box plus one; 0: it is none */
	struct edge *edges;
	size_t count, room;
	struct map index;
};

static void add_edge(struct graph *g, uint32_t caller, uint32_t callee, size_t stack, double amount)
{
	uint64_t key = (uint64_t)caller << 32 | callee, at;

	if (!map_get(&g->index, key, &at)) {
		at = g->count;
		map_set(&g->index, key, at);
		g->edges = xgrow(g->edges, g->count, &g->room, sizeof(*g->edges));
		g->edges[g->count++] = (struct edge){ .caller = caller, .callee = callee };
	}
	if (g->edges[at].last == stack + 1)
		return;
	g->edges[at].last = stack + 1;
	g->edges[at].amount += amount;
}

/* Arrows lead from box to box: functions between them that are no boxes are passed over. */
static void add_stack(struct graph *g, size_t stack)
{
	const struct profile_stack *s = &g->profile->stacks[stack];
	const uint32_t *frames = g->profile->frames + s->frame;
	double amount = heap_amount(&s->amounts, g->options->measure);
	uint32_t callee = UINT32_MAX;

	for (size_t k = 0; k < s->frame_count; k++) {
		if (!g->number[frames[k]])
			continue;
		if (callee != UINT32_MAX && callee != frames[k])
			add_edge(g, frames[k], callee, stack, amount);
		callee = frames[k];
	}
}

static int by_amount(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->amount != y->amount)
		return x->amount < y->amount ? 1 : -1;
	return x->caller != y->caller ? (x->caller < y->caller ? -1 : 1)
				      : (x->callee < y->callee ? -1 : 1);
}

static void put_quoted(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			buf_printf(out, "\\%c", *text);
		else
			buf_char(out, (unsigned char)*text < 32 ? '?' : *text);
}

static void put_node(struct graph *g, struct sink *out, size_t i)
{
	const struct heap_report_options *o = g->options;
	const struct top_row *r = &g->top.rows[i];
	double total = heap_amount(&g->profile->total, o->measure);
	double flat = heap_amount(&r->flat, o->measure), cum = heap_amount(&r->cum, o->measure);
	struct heap_text f, c;

	buf_printf(&out->buf, "N%zu [label=\"", i + 1);
	put_quoted(&out->buf, strings_at(&g->profile->names, r->name));
	buf_printf(&out->buf, "\\n%s (%.1f%%)\\rof %s (%.1f%%)\\r\", fontsize=%.1f];\n",
		   heap_amount_text(&f, flat, o), total ? flat * 100 / total : 0,
		   heap_amount_text(&c, cum, o), total ? cum * 100 / total : 0,
		   8 + 50 * sqrt(total ? fabs(flat / total) : 0));
}

static void choose_nodes(struct graph *g)
{
	const struct heap_report_options *o = g->options;
	double least = fabs(heap_amount(&g->profile->total, o->measure)) * o->node_fraction;

	top_make(&g->top, g->profile, o->measure, true);
	g->number = xcalloc(strings_count(&g->profile->names) + 1, sizeof(*g->number));
	for (size_t i = 0; i < g->top.count && g->nodes < o->node_count; i++) {
		if (fabs(heap_amount(&g->top.rows[i].cum, o->measure)) <= least)
			continue;
		g->top.rows[g->nodes] = g->top.rows[i];
		g->number[g->top.rows[i].name] = (uint32_t)++g->nodes;
	}
}

/* Arrows, the strongest first; no box has more than max_degree in or out. */
static void put_edges(struct graph *g, struct sink *out)
{
	const struct heap_report_options *o = g->options;
	double total = heap_amount(&g->profile->total, o->measure);
	auto_free uint64_t *in = xcalloc(g->nodes + 1, sizeof(*in));
	auto_free uint64_t *from = xcalloc(g->nodes + 1, sizeof(*from));
	struct heap_text h;

	if (g->count > 1)
		qsort(g->edges, g->count, sizeof(*g->edges), by_amount);
	for (size_t i = 0; i < g->count && !sink_turn(out); i++) {
		const struct edge *e = &g->edges[i];
		uint32_t caller = g->number[e->caller], callee = g->number[e->callee];

		if (fabs(e->amount) <= fabs(total) * o->edge_fraction ||
		    (from[caller] >= o->max_degree && in[callee] >= o->max_degree))
			continue;
		from[caller]++;
		in[callee]++;
		buf_printf(&out->buf, "N%u -> N%u [label=\"%s\", weight=%.0f, penwidth=%.1f];\n",
			   caller, callee, heap_amount_text(&h, e->amount, o),
			   total ? 1 + fabs(e->amount / total) * 99 : 1,
			   total ? 0.5 + 5 * fabs(e->amount / total) : 1);
	}
}

static int write_dot(const struct profile *p, const struct heap_report_options *o, struct sink *out,
		     struct err *err)
{
	struct graph g = { .profile = p, .options = o };
	struct heap_text h;

	choose_nodes(&g);
	buf_text(&out->buf, "digraph \"");
	put_quoted(&out->buf, o->title);
	buf_printf(&out->buf, "\" {\nnode [shape=box, width=0.3, height=0.2];\n"
			      "Legend [shape=box, fontsize=18, shape=plaintext, label=\"");
	put_quoted(&out->buf, o->title);
	buf_printf(&out->buf, "\\lTotal %s: %s\\lDropped functions with %.1f%% or less\\l\"];\n",
		   heap_unit(o), heap_amount_text(&h, heap_amount(&p->total, o->measure), o),
		   o->node_fraction * 100);
	for (size_t i = 0; i < g.nodes && !sink_turn(out); i++)
		put_node(&g, out, i);
	for (size_t i = 0; i < p->stack_count; i++)
		add_stack(&g, i);
	put_edges(&g, out);
	buf_text(&out->buf, "}\n");
	top_release(&g.top);
	map_release(&g.index);
	free(g.number);
	free(g.edges);
	return out->error;
}

const struct heap_report heap_report_dot = {
	.name = "dot",
	.help = "the graph of calls, for Graphviz",
	.mime = "text/vnd.graphviz; charset=utf-8",
	.write = write_dot,
};
