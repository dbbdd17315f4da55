/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Flame graphs as SVG.  See flame_draw.h.
 *
 * Callers are above what they call, the heaviest on the left.  Boxes are written parent by parent;
 * the script finds their weights and the functions' whole names in a table behind them. */
#include "draw/flame_draw.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/json.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "draw/assets.h"
#include "draw/flame_colour.h"
#include "draw/xml.h"

/* Pixels.  The script knows TOP, ROW, MARGIN and CHARACTER too: assets/flamegraph.js. */
#define WIDTH 1200
#define MARGIN 10
#define TOP 70
#define BOTTOM 52
#define ROW 17
#define BOX 16
#define GAP 0.5		/* between two boxes that are wide enough to be told apart */
#define CHARACTER 6.65	/* of 11 px monospace */
#define NARROWEST 0.1	/* boxes that are drawn */
#define DEEPEST 2000	/* rows that are drawn */
#define LABEL_COLUMNS 3 /* fewer are left out */
#define TITLE_COLUMNS 300
#define HEADING_COLUMNS 180

struct box {
	uint32_t node, parent; /* the parent as a position in the list of boxes */
	uint64_t weight;
	double left, width;
};

struct picture {
	const struct flame_picture *x;
	const struct flame_tree *tree;
	struct box *boxes; /* parents first, siblings together, heaviest first */
	size_t count;
	uint64_t total;		/* in the unit that is drawn */
	uint32_t rows;		/* that are drawn */
	uint64_t narrow, deep;	/* nodes that are not */
	uint64_t narrow_weight; /* of what is too narrow, together */
	struct buf name, text;
};

static uint64_t weight_of(const struct picture *p, size_t node)
{
	const struct flame_amount *w = flame_tree_amount(p->tree, node, 0);

	return p->x->by_count ? w->count : w->bytes;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

ORDER_WITH(by_parent, struct box, struct picture,
	   COMPARE(context->tree->nodes[x->node].parent, context->tree->nodes[y->node].parent)
		   ?: FALLING(weight)
		   ?: RISING(node))

/* Which nodes are drawn; what is too narrow counts where its parent is drawn. */
static void choose(struct picture *p)
{
	double least = (double)p->total * NARROWEST / (WIDTH - 2 * MARGIN);
	const struct flame_tree *f = p->tree;

	p->boxes = xcalloc(f->count, sizeof(*p->boxes));
	for (size_t i = 0; i < f->count; i++) {
		uint64_t weight = weight_of(p, i);

		if (!weight && i)
			continue;
		if ((double)weight < least) {
			p->narrow++;
			if ((double)weight_of(p, f->nodes[i].parent) >= least)
				p->narrow_weight += weight;
		} else if (f->nodes[i].depth >= DEEPEST) {
			p->deep++;
		} else {
			p->boxes[p->count++] =
				(struct box){ .node = (uint32_t)i, .weight = weight };
			if (f->nodes[i].depth >= p->rows)
				p->rows = f->nodes[i].depth + 1;
		}
	}
	/* The root is its own parent, and stays the first. */
	SORT_WITH(p->boxes + 1, p->count - 1, by_parent, p);
}

static void place_boxes(struct picture *p)
{
	auto_free uint32_t *box_of = xcalloc(p->tree->count, sizeof(*box_of));
	double scale = p->total ? (WIDTH - 2.0 * MARGIN) / (double)p->total : 0;
	double next = 0;

	p->boxes[0].left = MARGIN;
	p->boxes[0].width = WIDTH - 2.0 * MARGIN;
	for (size_t i = 1; i < p->count; i++)
		box_of[p->boxes[i].node] = (uint32_t)i;
	for (size_t i = 1; i < p->count; i++) {
		struct box *b = &p->boxes[i];

		b->parent = box_of[p->tree->nodes[b->node].parent];
		b->width = (double)b->weight * scale;
		/* A parent's number is smaller than its children's, so it is placed already. */
		b->left = i > 1 && b->parent == b[-1].parent ? next : p->boxes[b->parent].left;
		next = b->left + b->width;
	}
}

/* "1.50 KiB (1,536 bytes) in 3 blocks, 12.3 %" */
static void put_figures(struct picture *p, uint32_t node, struct buf *out)
{
	const struct flame_amount *w = flame_tree_amount(p->tree, node, 0);

	if (p->x->changes) {
		const struct flame_change *c = &p->x->changes[node];

		buf_printf(out, "%s%s (%s%s bytes), %s%s blocks; ", c->bytes < 0 ? "-" : "+",
			   size_text(magnitude(c->bytes)), c->bytes < 0 ? "-" : "+",
			   count_text(magnitude(c->bytes)), c->count < 0 ? "-" : "+",
			   count_text(magnitude(c->count)));
		buf_printf(out, "%s of what changed", share_text(weight_of(p, node), p->total));
		return;
	}
	buf_printf(out, "%s (%s bytes) in %s block%s, %s", size_text(w->bytes),
		   count_text(w->bytes), count_text(w->count), w->count == 1 ? "" : "s",
		   share_text(weight_of(p, node), p->total));
}

/* Of a difference red is what grew and blue what shrank, paler where both happened. */
static void put_fill(struct picture *p, const struct box *b, const struct flame_source *source,
		     struct buf *out)
{
	const struct flame_change *c = p->x->changes ? &p->x->changes[b->node] : NULL;
	int64_t change = c ? p->x->by_count ? c->count : c->bytes : 0;
	double part = c && b->weight ? (double)magnitude(change) / (double)b->weight : 0;

	if (!c)
		flame_colour_put(out, b->node ? flame_colour_of(p->name.data, source->module) : -1);
	else if (part < 0.01)
		flame_colour_hsl(out, 210, 0.06, 0.87);
	else
		flame_colour_hsl(out, change > 0 ? 8 : 212, 0.84,
				 0.90 - 0.22 * (part > 1 ? 1 : part));
}

/* What a viewer without scripts shows of a box when it is pointed at. */
static void put_title(struct picture *p, const struct box *b, const struct flame_source *source,
		      struct buf *out)
{
	buf_text(out, "<title>");
	xml_text(out, p->name.data, TITLE_COLUMNS);
	buf_clear(&p->text);
	flame_source_put(source, &p->text);
	if (p->text.size)
		xml_text(out, p->text.data, TITLE_COLUMNS);
	buf_char(out, '\n');
	buf_clear(&p->text);
	put_figures(p, b->node, &p->text);
	xml_text(out, p->text.data, TITLE_COLUMNS);
	buf_text(out, "</title>");
}

static void put_box(struct picture *p, const struct box *b, struct buf *out)
{
	const struct flame_node *n = &p->tree->nodes[b->node];
	double y = TOP + (double)n->depth * ROW;
	size_t columns = b->width > 6 ? (size_t)((b->width - 6) / CHARACTER) : 0;
	struct flame_source source;

	flame_names_of(p->x->names, n->function, &p->name, &source);
	buf_printf(out, "<g><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		   b->left, y, b->width > 1.5 ? b->width - GAP : b->width, BOX);
	put_fill(p, b, &source, out);
	buf_text(out, "\"/>");
	if (columns >= LABEL_COLUMNS) {
		buf_printf(out, "<text x=\"%.2f\" y=\"%.0f\">", b->left + 3, y + 12);
		xml_text_cut(out, p->name.data, columns);
		buf_text(out, "</text>");
	}
	put_title(p, b, &source, out);
	buf_text(out, "</g>\n");
}

static void put_line(struct buf *out, const char *id, double y, const char *text)
{
	buf_printf(out, "<text id=\"%s\" x=\"%d\" y=\"%.0f\">", id, MARGIN, y);
	xml_text(out, text, HEADING_COLUMNS);
	buf_text(out, "</text>\n");
}

/* What of the tree is not in the picture. */
static void put_note(struct picture *p, struct buf *text)
{
	if (p->narrow)
		buf_printf(text,
			   "Not drawn: %s box%s narrower than %g pixels, together %s of the whole.",
			   count_text(p->narrow), p->narrow == 1 ? "" : "es", NARROWEST,
			   share_text(p->narrow_weight, p->total));
	if (p->deep)
		buf_printf(text, "%sNot drawn: %s box%s more than %d calls deep.",
			   p->narrow ? " " : "", count_text(p->deep), p->deep == 1 ? "" : "es",
			   DEEPEST);
	if (!text->size)
		buf_text(text, "Every call path is drawn.");
}

static void put_head(struct picture *p, struct buf *out)
{
	int height = TOP + (int)p->rows * ROW + BOTTOM;
	auto_buf struct buf line = { 0 };

	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"11\" "
		   "fill=\"#1c2430\">\n<title>",
		   WIDTH, height, WIDTH, height);
	xml_text(out, p->x->heading, HEADING_COLUMNS);
	buf_text(out, "</title>\n<desc>Flame graph, written by memoir " MEMOIR_VERSION
		      ": callers above what they call.</desc>\n<style><![CDATA[\n");
	buf_text(out, asset_flamegraph_css);
	buf_printf(out, "]]></style>\n<rect id=\"back\" width=\"100%%\" height=\"100%%\" "
			"fill=\"#ffffff\"/>\n<g font-family=\"sans-serif\" font-size=\"12\" "
			"fill=\"#5b6675\">\n<g font-size=\"15\" font-weight=\"bold\" "
			"fill=\"#1c2430\">");
	put_line(out, "heading", 24, p->x->heading);
	buf_text(out, "</g>");
	put_line(out, "total", 43, p->x->subheading);
	put_note(p, &line);
	put_line(out, "note", height - BOTTOM + 24, line.data);
	buf_text(out, "</g>\n<g id=\"boxes\">\n");
}

static void json_functions(struct picture *p, struct json *j, uint32_t *number)
{
	struct flame_source source;
	uint32_t count = 0;

	json_array(j, "functions");
	for (size_t i = 1; i < p->count; i++) {
		uint32_t function = p->tree->nodes[p->boxes[i].node].function;

		if (number[function])
			continue;
		number[function] = ++count;
		json_array(j, NULL);
		flame_names_of(p->x->names, function, &p->name, &source);
		json_text(j, NULL, p->name.data);
		buf_clear(&p->text);
		flame_source_put(&source, &p->text);
		json_bytes(j, NULL, p->text.data ? p->text.data : "", p->text.size);
		json_end_array(j);
	}
	json_end_array(j);
}

/* Of a difference: by how much each box became more or less. */
static void json_changes(struct picture *p, struct json *j)
{
	JSON_EACH(j, "bytes_added", i, p->count)
		json_real(j, NULL, (double)p->x->changes[p->boxes[i].node].bytes, 0);
	JSON_EACH(j, "counts_added", i, p->count)
		json_real(j, NULL, (double)p->x->changes[p->boxes[i].node].count, 0);
}

/* For the script: each function once, and of each box its parent, function and weights.  Function
 * 0 stands for the whole. */
static void put_table(struct picture *p, struct buf *out)
{
	auto_free uint32_t *number = xcalloc((size_t)p->x->names->count + 1, sizeof(*number));
	auto_buf struct buf text = { 0 };
	struct json j = { .out = &text, .compact = true };

	json_object(&j, NULL);
	json_bool(&j, "by_count", p->x->by_count);
	json_functions(p, &j, number);
	JSON_EACH(&j, "parents", i, p->count)
		json_number(&j, NULL, p->boxes[i].parent);
	JSON_EACH(&j, "names", i, p->count)
		json_number(&j, NULL, i ? number[p->tree->nodes[p->boxes[i].node].function] : 0);
	JSON_EACH(&j, "bytes", i, p->count)
		json_number(&j, NULL, flame_tree_amount(p->tree, p->boxes[i].node, 0)->bytes);
	JSON_EACH(&j, "counts", i, p->count)
		json_number(&j, NULL, flame_tree_amount(p->tree, p->boxes[i].node, 0)->count);
	if (p->x->changes)
		json_changes(p, &j);
	json_end_object(&j);
	buf_text(out, "<script id=\"table\" type=\"application/json\">");
	xml_json(out, &text);
	buf_text(out, "</script>\n");
}

int flame_draw(const struct flame_picture *x, struct sink *out)
{
	struct picture p = { .x = x, .tree = x->tree };

	p.total = weight_of(&p, FLAME_ROOT);
	choose(&p);
	place_boxes(&p);
	put_head(&p, &out->buf);
	for (size_t i = 0; i < p.count && !sink_turn(out); i++) {
		put_box(&p, &p.boxes[i], &out->buf);
		if (x->progress)
			x->progress(x->progress_context, i, p.count);
	}
	buf_text(&out->buf, "</g>\n");
	put_table(&p, &out->buf);
	buf_text(&out->buf, "<script><![CDATA[\n");
	buf_text(&out->buf, asset_flamegraph_js);
	buf_text(&out->buf, "]]></script>\n</svg>\n");
	buf_release(&p.name);
	buf_release(&p.text);
	free(p.boxes);
	return out->error;
}
