/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs of calls as SVG.  See callgraph.h.
 *
 * Letters are monospaced, so that how wide a text is can be known here. */
#include "draw/callgraph.h"

#include <math.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "draw/assets.h"
#include "draw/layers.h"
#include "draw/xml.h"

/* Pixels. */
#define MARGIN 16
#define TOP 66
#define CHARACTER 0.605 /* of a letter's height */
#define LEADING 1.22
#define SMALLEST 11.0
#define LARGEST 26.0
#define LABEL_SIZE 10.0
#define PADDING 7
#define LINE_GAP 10	/* beside a line, where it passes a row */
#define NAME_COLUMNS 30 /* of a line of a name */
#define NAME_LINES 3
#define TITLE_COLUMNS 300
#define HEADING_COLUMNS 180
#define LEVELS 6

/* A name in lines, as it stands in a box. */
struct lines {
	char *text[NAME_LINES];
	unsigned count;
	size_t columns;
};

struct drawing {
	const struct callgraph *graph;
	struct layers layers;
	struct lines *lines; /* by node */
};

/* Where a line of a name may end: behind ::, a comma, a blank; before what is in brackets. */
static bool may_break(const char *text, size_t at)
{
	char before = text[at - 1], next = text[at];

	return before == ':' ? next != ':' && at > 1 && text[at - 2] == ':'
			     : before == ',' || before == ' ' || before == '_' || before == '/' ||
				       next == '<' || next == '(';
}

/* Bytes of `text` that are at most `columns` characters; of a text that is longer up to the last
 * place where a line may end, if that is not too far back. */
static size_t line_size(const char *text, size_t columns)
{
	size_t size = strlen(text), at = 0, end = 0, n = 0;

	for (; at < size && n < columns; n++) {
		size_t step = utf8_sequence((const unsigned char *)text + at, size - at);

		at += step ? step : 1;
		if (at < size && n >= columns / 3 && may_break(text, at))
			end = at;
	}
	return at < size && end ? end : at;
}

static void break_name(struct lines *l, const char *name)
{
	*l = (struct lines){ 0 };
	while (*name || !l->count) {
		bool last = l->count + 1 == NAME_LINES;
		size_t size = last ? strlen(name) : line_size(name, NAME_COLUMNS), columns;
		struct buf line = { 0 };

		l->text[l->count] = xmemdup0(name, size);
		/* As it is drawn, since what is escaped or cut has another length. */
		xml_text_cut(&line, l->text[l->count++], NAME_COLUMNS);
		columns = line.size ? text_columns(line.data) : 1;
		columns = columns > NAME_COLUMNS || last ? NAME_COLUMNS : columns;
		l->columns = columns > l->columns ? columns : l->columns;
		buf_release(&line);
		name += size;
		if (last)
			break;
	}
}

static double letter_size(const struct callgraph_node *n)
{
	return SMALLEST + (LARGEST - SMALLEST) * sqrt(fmin(1, fabs(n->flat_part)));
}

static double figure_size(const struct callgraph_node *n)
{
	return fmax(9.5, letter_size(n) * 0.8);
}

static void measure(struct drawing *d, size_t i)
{
	const struct callgraph_node *n = &d->graph->nodes[i];
	struct lines *l = &d->lines[i];
	double width, figures = 0;

	break_name(l, n->name);
	width = (double)l->columns * letter_size(n);
	if (n->flat)
		figures = (double)text_columns(n->flat);
	if (n->cum)
		figures = fmax(figures, (double)text_columns(n->cum));
	width = fmax(width, figures * figure_size(n)) * CHARACTER;
	d->layers.nodes[i] = (struct layers_node){
		.width = ceil(width + 2 * PADDING),
		.height = ceil(LEADING * (l->count * letter_size(n) +
					  ((n->flat != NULL) + (n->cum != NULL)) * figure_size(n)) +
			       2 * PADDING - 2),
	};
}

static double line_width(const struct callgraph_edge *e)
{
	return 0.8 + 7 * fmin(1, fabs(e->part));
}

static double label_width(const struct callgraph_edge *e)
{
	size_t columns = e->label ? text_columns(e->label) : 0;

	return ceil((double)columns * LABEL_SIZE * CHARACTER + line_width(e));
}

static void place_boxes(struct drawing *d)
{
	const struct callgraph *g = d->graph;
	struct layers *l = &d->layers;

	*l = (struct layers){ .nodes = xcalloc(g->node_count + 1, sizeof(*l->nodes)),
			      .node_count = g->node_count,
			      .edges = xcalloc(g->edge_count + 1, sizeof(*l->edges)),
			      .edge_count = g->edge_count,
			      .node_gap = 16,
			      .line_gap = LINE_GAP,
			      .row_gap = 17 };
	d->lines = xcalloc(g->node_count + 1, sizeof(*d->lines));
	for (size_t i = 0; i < g->node_count; i++)
		measure(d, i);
	for (size_t i = 0; i < g->edge_count; i++)
		l->edges[i] = (struct layers_edge){
			.from = g->edges[i].from,
			.to = g->edges[i].to,
			.weight = fmin(1, fabs(g->edges[i].part)),
			.label_width = label_width(&g->edges[i]),
			.height = LABEL_SIZE + 2,
		};
	layers_place(l);
}

/* 0 … LEVELS - 1: roots, since most parts are small. */
static unsigned level_of(double part)
{
	return (unsigned)fmin(LEVELS - 1, sqrt(fabs(part)) * LEVELS);
}

/* What viewers without styles show; callgraph.css has the same, and others for the dark. */
static const char *const more[LEVELS] = { "#f7f4f1", "#fcebdf", "#fad8c1",
					  "#f7bd9b", "#f29c72", "#ec7f52" };
static const char *const less[LEVELS] = { "#f0f4f9", "#dfebf8", "#c5dcf5",
					  "#a3c8f0", "#7cb1e8", "#5b9bdf" };

/* How much a line that passes a row leans, as x per y: as its neighbours do, within what is free
 * beside it; not where it turns back. */
static double lean(const struct layers_pass *p)
{
	double before = p->x - p[-1].x, behind = p[1].x - p->x, height = p->bottom - p->top;
	double most = 2 * (LINE_GAP - 3) / fmax(height, 1);
	double slope =
		(p[1].x - p[-1].x) / fmax(1, p[1].top + p[1].bottom - p[-1].top - p[-1].bottom) * 2;

	return before * behind <= 0 ? 0 : fmax(-most, fmin(most, slope));
}

/* A line from box to box through its places in the rows between, and the head of its arrow. */
static void put_line(const struct drawing *d, size_t i, struct buf *out)
{
	const struct layers_edge *e = &d->layers.edges[i];
	const struct layers_pass *p = &d->layers.passes[e->pass], *end = p + e->pass_count - 1;
	double width = line_width(&d->graph->edges[i]), head = 5 + width, half = 2.5 + width * 0.7;
	double x = p->x, y = e->turned ? p->top + head - 1 : p->top, slope = 0;

	buf_printf(out, "<path d=\"M%.1f %.1f", x, y);
	if (p->bottom > y)
		buf_printf(out, "V%.1f", y = p->bottom);
	for (const struct layers_pass *q = p + 1; q <= end; q++) {
		double next = q < end ? lean(q) : 0, offset = next * (q->bottom - q->top) / 2;
		double top = q == end && !e->turned ? q->top - head + 1 : q->top;
		double part = (top - y) * 0.45;

		buf_printf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", x + slope * part, y + part,
			   q->x - offset - next * part, top - part, q->x - offset, top);
		x = q->x + offset;
		y = q->bottom;
		slope = next;
		if (q < end)
			buf_printf(out, "L%.1f %.1f", x, y);
	}
	buf_printf(out, "\" stroke-width=\"%.1f\"/>", width);
	if (e->turned)
		buf_printf(out, "<path class=\"head\" d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>", p->x,
			   p->top, half, head, -2 * half);
	else
		buf_printf(out, "<path class=\"head\" d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"/>", end->x,
			   end->top, -half, -head, 2 * half);
}

static void put_edge(const struct drawing *d, size_t i, struct buf *out)
{
	const struct callgraph_edge *e = &d->graph->edges[i];

	buf_printf(out, "<g class=\"%s%u\" data-from=\"%u\" data-to=\"%u\"><title>",
		   e->part < 0 ? "less" : "more", level_of(e->part), e->from, e->to);
	xml_text(out, d->graph->nodes[e->from].name, TITLE_COLUMNS);
	buf_text(out, " \xe2\x86\x92 ");
	xml_text(out, d->graph->nodes[e->to].name, TITLE_COLUMNS);
	buf_char(out, '\n');
	xml_text(out, e->figures, TITLE_COLUMNS);
	buf_text(out, "</title>");
	put_line(d, i, out);
	buf_text(out, "</g>\n");
}

static void put_label(const struct drawing *d, size_t i, struct buf *out)
{
	const struct layers_edge *e = &d->layers.edges[i];
	const struct layers_pass *p = &d->layers.passes[e->pass + e->label];
	double y = (p->top + p->bottom) / 2, width;

	if (!d->graph->edges[i].label)
		return;
	width = (double)text_columns(d->graph->edges[i].label) * LABEL_SIZE * CHARACTER + 4;
	buf_printf(out,
		   "<g data-from=\"%u\" data-to=\"%u\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		   "height=\"%.1f\" fill=\"#ffffff\"/><text x=\"%.1f\" y=\"%.1f\">",
		   e->from, e->to, p->x - width / 2, y - e->height / 2, width, e->height, p->x,
		   y + LABEL_SIZE * 0.36);
	xml_text(out, d->graph->edges[i].label, TITLE_COLUMNS);
	buf_text(out, "</text></g>\n");
}

static void put_text(struct buf *out, double x, double *y, double size, const char *class,
		     const char *text)
{
	*y += size * LEADING;
	buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\"%s>", x,
		   *y - size * (LEADING - 0.96), size, class);
	xml_text_cut(out, text, NAME_COLUMNS);
	buf_text(out, "</text>");
}

static void put_node(const struct drawing *d, size_t i, struct buf *out)
{
	const struct callgraph_node *n = &d->graph->nodes[i];
	const struct layers_node *box = &d->layers.nodes[i];
	const struct lines *l = &d->lines[i];
	unsigned level = level_of(n->cum_part);
	double y = box->y + PADDING - 1;

	buf_printf(out, "<g class=\"%s%u\" data-node=\"%zu\"><title>",
		   n->cum_part < 0 ? "less" : "more", level, i);
	xml_text(out, n->name, TITLE_COLUMNS);
	for (unsigned k = 0; k < 2; k++)
		if (k ? n->cum : n->flat) {
			buf_char(out, k && n->flat ? ' ' : '\n');
			xml_text(out, k ? n->cum : n->flat, TITLE_COLUMNS);
		}
	buf_printf(out,
		   "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"5\" "
		   "fill=\"%s\"/>",
		   box->x - box->width / 2, box->y, box->width, box->height,
		   (n->cum_part < 0 ? less : more)[level]);
	for (unsigned k = 0; k < l->count; k++)
		put_text(out, box->x, &y, letter_size(n), "", l->text[k]);
	if (n->flat)
		put_text(out, box->x, &y, figure_size(n), " class=\"figures\"", n->flat);
	if (n->cum)
		put_text(out, box->x, &y, figure_size(n), " class=\"figures\"", n->cum);
	buf_text(out, "</g>\n");
}

static void put_heading(struct buf *out, const char *id, int y, const char *more_attributes,
			const char *text)
{
	buf_printf(out, "<text id=\"%s\" x=\"%d\" y=\"%d\"%s>", id, MARGIN, y, more_attributes);
	xml_text(out, text, HEADING_COLUMNS);
	buf_text(out, "</text>\n");
}

static void put_head(const struct drawing *d, struct buf *out)
{
	/* Lines above a small picture are not cut off. */
	double width = fmax(820, ceil(d->layers.width + 2 * MARGIN));
	double height = ceil(d->layers.height + TOP + MARGIN);

	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		   "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" fill=\"#1c2430\">\n"
		   "<title>",
		   width, height, width, height);
	xml_text(out, d->graph->heading, HEADING_COLUMNS);
	buf_text(out, "</title>\n<desc>Graph of calls, written by memoir " MEMOIR_VERSION
		      ": callers above what they call.</desc>\n<style><![CDATA[\n");
	buf_text(out, asset_callgraph_css);
	buf_text(out, "]]></style>\n<rect id=\"back\" width=\"100%\" height=\"100%\" "
		      "fill=\"#ffffff\"/>\n");
	buf_printf(out,
		   "<g id=\"graph\" transform=\"translate(%.1f %d)\" data-width=\"%.0f\" "
		   "data-height=\"%.0f\">\n",
		   (width - d->layers.width) / 2, TOP, d->layers.width, d->layers.height);
}

int callgraph_draw(const struct callgraph *g, struct sink *out)
{
	struct drawing d = { .graph = g };

	place_boxes(&d);
	put_head(&d, &out->buf);
	buf_text(&out->buf, "<g id=\"lines\" fill=\"none\" stroke=\"#98a2ae\">\n");
	/* The heaviest come first, and are drawn last, above the others. */
	for (size_t i = g->edge_count; i-- > 0 && !sink_turn(out);)
		put_edge(&d, i, &out->buf);
	buf_printf(&out->buf, "</g>\n<g id=\"labels\" font-size=\"%.0f\" text-anchor=\"middle\">\n",
		   LABEL_SIZE);
	for (size_t i = 0; i < g->edge_count && !sink_turn(out); i++)
		put_label(&d, i, &out->buf);
	buf_text(&out->buf, "</g>\n<g id=\"boxes\" text-anchor=\"middle\">\n");
	for (size_t i = 0; i < g->node_count && !sink_turn(out); i++)
		put_node(&d, i, &out->buf);
	buf_text(&out->buf, "</g>\n</g>\n<g id=\"head\" font-family=\"sans-serif\" "
			    "font-size=\"12\">\n");
	put_heading(&out->buf, "heading", 24, " font-size=\"15\" font-weight=\"bold\"", g->heading);
	put_heading(&out->buf, "legend", 44, "", g->legend);
	buf_text(&out->buf, "</g>\n<script><![CDATA[\n");
	buf_text(&out->buf, asset_callgraph_js);
	buf_text(&out->buf, "]]></script>\n</svg>\n");
	for (size_t i = 0; i < g->node_count; i++)
		for (unsigned k = 0; k < d.lines[i].count; k++)
			free(d.lines[i].text[k]);
	free(d.lines);
	free(d.layers.nodes);
	free(d.layers.edges);
	layers_release(&d.layers);
	return out->error;
}
