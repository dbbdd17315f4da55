/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The graph of calls as one picture (draw/callgraph.h), drawn here: nothing else is run. */
#include <math.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "draw/callgraph.h"
#include "heap/heap_graph.h"

/* "34.0 (88.4%)", the amounts as in the table */
static char *figures(const struct heap_graph *g, const struct heap_report_options *o,
		     const char *before, double amount)
{
	struct heap_text t;

	return xasprintf("%s%s (%.1f%%)", before, heap_amount_text(&t, amount, o),
			 g->total ? amount * 100 / g->total : 0);
}

static double part(const struct heap_graph *g, double amount)
{
	return g->total ? fmax(-1, fmin(1, amount / fabs(g->total))) : 0;
}

static void take_node(const struct heap_graph *g, const struct profile *p,
		      const struct heap_report_options *o, size_t i, struct callgraph_node *ret)
{
	const struct top_row *r = &g->top.rows[i];
	double flat = heap_amount(&r->flat, o->measure), cum = heap_amount(&r->cum, o->measure);

	*ret = (struct callgraph_node){
		.name = strings_at(&p->names, r->name),
		.flat = flat != 0 ? figures(g, o, "", flat) : NULL,
		.cum = flat != cum || cum == 0 ? figures(g, o, "of ", cum) : NULL,
		.flat_part = part(g, flat),
		.cum_part = part(g, cum),
	};
}

/* An amount that would be printed as nothing is none at the arrow. */
static void take_edge(const struct heap_graph *g, const struct heap_report_options *o,
		      const struct heap_edge *e, struct callgraph_edge *ret)
{
	struct heap_text text, nothing;
	const char *amount = heap_amount_text(&text, e->amount, o);
	bool shown = strcmp(amount + (*amount == '-'), heap_amount_text(&nothing, 0, o)) != 0;

	*ret = (struct callgraph_edge){
		.from = e->caller,
		.to = e->callee,
		.label = shown ? xstrdup(amount) : NULL,
		.figures = xasprintf("%s %s (%.2f%%)", amount, heap_unit(o),
				     g->total ? e->amount * 100 / g->total : 0),
		.part = part(g, e->amount),
	};
}

static void release_edge(struct callgraph_edge *e)
{
	free((char *)e->label);
	free((char *)e->figures);
}

/* What jeprof says in its legend. */
static void legend(const struct heap_graph *g, const struct heap_report_options *o,
		   struct buf *text)
{
	struct heap_text total, nodes, edges;
	const char *unit = heap_unit(o);

	if (!g->nodes) {
		buf_text(text, "nothing to show: no function holds enough");
		return;
	}
	buf_printf(text, "Total %s %s \xc2\xb7 %s of %s functions, %s of %s calls",
		   heap_amount_text(&total, g->total, o), unit, count_text(g->nodes),
		   count_text(g->functions), count_text(g->edge_count), count_text(g->calls));
	if (g->nodes < g->functions || g->edge_count < g->calls)
		buf_printf(text,
			   " \xc2\xb7 left out: functions with %s %s or less, calls with %s %s or "
			   "less",
			   heap_amount_text(&nodes, fabs(g->total) * o->node_fraction, o), unit,
			   heap_amount_text(&edges, fabs(g->total) * o->edge_fraction, o), unit);
}

static int write_svg(const struct profile *p, const struct heap_report_options *o, struct sink *out,
		     struct err *err)
{
	static const char *const measures[] = { "bytes alive", "objects alive", "bytes allocated",
						"objects allocated" };
	auto_buf struct buf above = { 0 }, below = { 0 };
	auto_free struct callgraph_node *nodes = NULL;
	auto_free struct callgraph_edge *edges = NULL;
	auto_release(heap_graph_release) struct heap_graph g = { 0 };

	heap_graph_init(&g, p, o);
	nodes = xcalloc(g.nodes + 1, sizeof(*nodes));
	edges = xcalloc(g.edge_count + 1, sizeof(*edges));
	for (size_t i = 0; i < g.nodes; i++)
		take_node(&g, p, o, i, &nodes[i]);
	for (size_t i = 0; i < g.edge_count; i++)
		take_edge(&g, o, &g.edges[i], &edges[i]);
	buf_printf(&above, "%s%s%s: %s", o->title, o->base ? ", compared with " : "",
		   o->base ? o->base : "", measures[o->measure]);
	legend(&g, o, &below);
	callgraph_draw(
		&(struct callgraph){ above.data, below.data, nodes, g.nodes, edges, g.edge_count },
		out);
	for (size_t i = 0; i < g.nodes; i++) {
		free((char *)nodes[i].flat);
		free((char *)nodes[i].cum);
	}
	for (size_t i = 0; i < g.edge_count; i++)
		release_edge(&edges[i]);
	return out->error;
}

const struct heap_report heap_report_svg = {
	.name = "svg",
	.help = "the graph of calls, as one picture that is moved and zoomed",
	.mime = "image/svg+xml",
	.extension = "svg",
	.write = write_svg,
};
