/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The graph of calls for Graphviz.  Boxes grow with what a function holds itself. */
#include <math.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/heap_graph.h"

static void put_quoted(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			buf_printf(out, "\\%c", *text);
		else
			buf_char(out, (unsigned char)*text < 32 ? '?' : *text);
}

static void put_node(const struct heap_graph *g, const struct profile *p,
		     const struct heap_report_options *o, struct sink *out, size_t i)
{
	const struct top_row *r = &g->top.rows[i];
	double flat = heap_amount(&r->flat, o->measure), cum = heap_amount(&r->cum, o->measure);
	struct heap_text f, c;

	buf_printf(&out->buf, "N%zu [label=\"", i + 1);
	put_quoted(&out->buf, strings_at(&p->names, r->name));
	buf_printf(&out->buf, "\\n%s (%.1f%%)\\rof %s (%.1f%%)\\r\", fontsize=%.1f];\n",
		   heap_amount_text(&f, flat, o), g->total ? flat * 100 / g->total : 0,
		   heap_amount_text(&c, cum, o), g->total ? cum * 100 / g->total : 0,
		   8 + 50 * sqrt(g->total ? fabs(flat / g->total) : 0));
}

static void put_edge(const struct heap_graph *g, const struct heap_report_options *o,
		     struct sink *out, const struct heap_edge *e)
{
	double part = g->total ? fabs(e->amount / g->total) : 0;
	struct heap_text h;

	buf_printf(&out->buf, "N%u -> N%u [label=\"%s\", weight=%.0f, penwidth=%.1f];\n",
		   e->caller + 1, e->callee + 1, heap_amount_text(&h, e->amount, o), 1 + part * 99,
		   g->total ? 0.5 + 5 * part : 1);
}

static int write_dot(const struct profile *p, const struct heap_report_options *o, struct sink *out,
		     struct err *err)
{
	auto_release(heap_graph_release) struct heap_graph g = { 0 };
	struct heap_text h;

	heap_graph_init(&g, p, o);
	buf_text(&out->buf, "digraph \"");
	put_quoted(&out->buf, o->title);
	buf_printf(&out->buf, "\" {\nnode [shape=box, width=0.3, height=0.2];\n"
			      "Legend [shape=box, fontsize=18, shape=plaintext, label=\"");
	put_quoted(&out->buf, o->title);
	buf_printf(&out->buf, "\\lTotal %s: %s\\lDropped functions with %.1f%% or less\\l\"];\n",
		   heap_unit(o), heap_amount_text(&h, g.total, o), o->node_fraction * 100);
	for (size_t i = 0; i < g.nodes && !sink_turn(out); i++)
		put_node(&g, p, o, out, i);
	for (size_t i = 0; i < g.edge_count && !sink_turn(out); i++)
		put_edge(&g, o, out, &g.edges[i]);
	buf_text(&out->buf, "}\n");
	return out->error;
}

const struct heap_report heap_report_dot = {
	.name = "dot",
	.help = "the graph of calls, for Graphviz",
	.mime = "text/vnd.graphviz; charset=utf-8",
	.extension = "dot",
	.write = write_dot,
};
