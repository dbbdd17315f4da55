/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flame graph as one SVG file: a complete picture for any viewer, and in a browser one that zooms
 * and searches.
 *
 * Callers are above what they call, the heaviest on the left.  Boxes are written parent by parent;
 * the script finds their weights and the functions' whole names in a table behind them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "export/assets.h"
#include "export/export.h"
#include "export/flame.h"
#include "export/xml.h"

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
	const struct export *x;
	struct flame flame;
	struct box *boxes; /* parents first, siblings together, heaviest first */
	size_t count;
	uint64_t total;		/* in the unit that is drawn */
	uint32_t rows;		/* that are drawn */
	uint64_t narrow, deep;	/* nodes that are not */
	uint64_t narrow_weight; /* of what is too narrow, together */
	struct buf text;
};

static uint64_t weight_of(const struct picture *p, size_t node)
{
	const struct weight *w = flame_weight(&p->flame, node, 0);

	return p->x->by_count ? w->count : w->bytes;
}

static int by_parent(const void *a, const void *b, void *context)
{
	const struct picture *p = context;
	const struct box *x = a, *y = b;
	uint32_t px = p->flame.nodes[x->node].parent, py = p->flame.nodes[y->node].parent;

	if (px != py)
		return px < py ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Which nodes are drawn; what is too narrow counts where its parent is drawn. */
static void choose(struct picture *p)
{
	double least = (double)p->total * NARROWEST / (WIDTH - 2 * MARGIN);
	const struct flame *f = &p->flame;

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
	if (p->count > 1)
		qsort_r(p->boxes + 1, p->count - 1, sizeof(*p->boxes), by_parent, p);
}

static void place(struct picture *p)
{
	uint32_t *box_of = xcalloc(p->flame.count, sizeof(*box_of));
	double scale = p->total ? (WIDTH - 2.0 * MARGIN) / (double)p->total : 0;
	double next = 0;

	p->boxes[0].left = MARGIN;
	p->boxes[0].width = WIDTH - 2.0 * MARGIN;
	for (size_t i = 1; i < p->count; i++)
		box_of[p->boxes[i].node] = (uint32_t)i;
	for (size_t i = 1; i < p->count; i++) {
		struct box *b = &p->boxes[i];

		b->parent = box_of[p->flame.nodes[b->node].parent];
		b->width = (double)b->weight * scale;
		/* A parent's number is smaller than its children's, so it is placed already. */
		b->left = i > 1 && b->parent == b[-1].parent ? next : p->boxes[b->parent].left;
		next = b->left + b->width;
	}
	free(box_of);
}

/* "#rrggbb" of a hue in degrees, and of the others from 0 to 1. */
static void put_colour(struct buf *out, double hue, double saturation, double lightness)
{
	double a = saturation * (lightness < 0.5 ? lightness : 1 - lightness);
	static const int offsets[] = { 0, 8, 4 };

	buf_char(out, '#');
	for (int i = 0; i < 3; i++) {
		double k = fmod(offsets[i] + hue / 30, 12), low = k - 3, high = 9 - k;
		double part = low < high ? low : high;

		part = part > 1 ? 1 : part < -1 ? -1 : part;
		buf_printf(out, "%02x", (unsigned)((lightness - a * part) * 255 + 0.5));
	}
}

static void put_fill(struct buf *out, int colour)
{
	if (colour < 0)
		put_colour(out, 210, 0.06, 0.78 + 0.03 * (-1 - colour));
	else
		put_colour(out, 16 + colour / FLAME_SHADES, 0.84,
			   0.62 + 0.04 * (colour % FLAME_SHADES));
}

/* " (libx.so)  file.c:12–48" */
static void put_where(struct picture *p, uint32_t function, struct buf *out)
{
	const struct functions_row *row;
	const struct flame_lines *lines;
	struct places *places = p->x->view->places;
	const char *module, *file;

	if (function == UINT32_MAX)
		return;
	row = &p->flame.functions.rows[function];
	lines = &p->flame.lines[function];
	module = path_base(places_module_path(places, row->module));
	file = path_base(places_string(places, row->file));
	if (*module)
		buf_printf(out, " (%s)", module);
	if (!*file)
		return;
	buf_printf(out, "  %s", file);
	if (lines->first)
		buf_printf(out, ":%u", lines->first);
	if (lines->last > lines->first)
		buf_printf(out, "\xe2\x80\x93%u", lines->last);
}

/* "1.50 KiB (1,536 bytes) in 3 blocks, 12.3 %" */
static void put_figures(struct picture *p, uint32_t node, struct buf *out)
{
	const struct weight *w = flame_weight(&p->flame, node, 0);
	struct human size, bytes, count, share;

	buf_printf(out, "%s (%s bytes) in %s block%s, %s", human_size(&size, w->bytes),
		   human_count(&bytes, w->bytes), human_count(&count, w->count),
		   w->count == 1 ? "" : "s", human_share(&share, weight_of(p, node), p->total));
}

/* What a viewer without scripts shows of a box when it is pointed at. */
static void put_title(struct picture *p, const struct box *b, struct buf *out)
{
	uint32_t function = p->flame.nodes[b->node].function;

	buf_text(out, "<title>");
	xml_text(out, p->text.data, TITLE_COLUMNS);
	buf_clear(&p->text);
	put_where(p, function, &p->text);
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
	const struct flame_node *n = &p->flame.nodes[b->node];
	double y = TOP + (double)n->depth * ROW;
	size_t columns = b->width > 6 ? (size_t)((b->width - 6) / CHARACTER) : 0;

	buf_clear(&p->text);
	flame_name(&p->flame, n->function, &p->text);
	buf_printf(out, "<g><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		   b->left, y, b->width > 1.5 ? b->width - GAP : b->width, BOX);
	put_fill(out, flame_colour(&p->flame, n->function));
	buf_text(out, "\"/>");
	if (columns >= LABEL_COLUMNS) {
		buf_printf(out, "<text x=\"%.2f\" y=\"%.0f\">", b->left + 3, y + 12);
		xml_text_cut(out, p->text.data, columns);
		buf_text(out, "</text>");
	}
	put_title(p, b, out);
	buf_text(out, "</g>\n");
}

static void put_line(struct buf *out, const char *id, double y, const char *text)
{
	buf_printf(out, "<text id=\"%s\" x=\"%d\" y=\"%.0f\">", id, MARGIN, y);
	xml_text(out, text, HEADING_COLUMNS);
	buf_text(out, "</text>\n");
}

/* "app: leaked", "app: alive at a moment, 1.50 s after the start". */
static void heading(struct picture *p, struct buf *text)
{
	const struct export *x = p->x;
	const struct measure_row *row = &measure_rows[x->measuring.measure];
	struct human when;

	buf_printf(text, "%s: %s, by %s", x->title, row->title, x->by_count ? "blocks" : "bytes");
	if (row->needs_time)
		buf_printf(text, ", %s after the start",
			   human_duration(&when, model_ns(x->view->model, x->measuring.at)));
	if (row->needs_duration)
		buf_printf(
			text, ", less than %s",
			human_duration(&when, (uint64_t)((double)x->measuring.at *
							 model_clock(x->view->model).ns_per_tick)));
}

static void subheading(struct picture *p, struct buf *text)
{
	const struct weight *all = flame_weight(&p->flame, FLAME_ROOT, 0);
	struct human size, count;

	if (!p->total) {
		buf_text(text, "nothing to show: no allocation counts here");
		return;
	}
	buf_printf(text, "%s in %s block%s", human_size(&size, all->bytes),
		   human_count(&count, all->count), all->count == 1 ? "" : "s");
	if (p->x->view->filter && p->x->view->bits) {
		buf_text(text, " \xc2\xb7 only: ");
		filter_print(p->x->view->filter, text);
	}
}

/* What of the tree is not in the picture. */
static void note(struct picture *p, struct buf *text)
{
	struct human a, b;

	if (p->narrow)
		buf_printf(text,
			   "Not drawn: %s box%s narrower than %g pixels, together %s of the whole.",
			   human_count(&a, p->narrow), p->narrow == 1 ? "" : "es", NARROWEST,
			   human_share(&b, p->narrow_weight, p->total));
	if (p->deep)
		buf_printf(text, "%sNot drawn: %s box%s more than %d calls deep.",
			   p->narrow ? " " : "", human_count(&a, p->deep), p->deep == 1 ? "" : "es",
			   DEEPEST);
	if (!text->size)
		buf_text(text, "Every call path is drawn.");
}

static void put_head(struct picture *p, struct buf *out)
{
	int height = TOP + (int)p->rows * ROW + BOTTOM;
	struct buf title = { 0 }, line = { 0 };

	heading(p, &title);
	subheading(p, &line);
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"11\" "
		   "fill=\"#1c2430\">\n<title>",
		   WIDTH, height, WIDTH, height);
	xml_text(out, title.data, HEADING_COLUMNS);
	buf_text(out, "</title>\n<desc>Flame graph, written by memoir " MEMOIR_VERSION
		      ": callers above what they call.</desc>\n<style><![CDATA[\n");
	buf_text(out, asset_flamegraph_css);
	buf_printf(out, "]]></style>\n<rect id=\"back\" width=\"100%%\" height=\"100%%\" "
			"fill=\"#ffffff\"/>\n<g font-family=\"sans-serif\" font-size=\"12\" "
			"fill=\"#5b6675\">\n<g font-size=\"15\" font-weight=\"bold\" "
			"fill=\"#1c2430\">");
	put_line(out, "heading", 24, title.data);
	buf_text(out, "</g>");
	put_line(out, "total", 43, line.data);
	buf_clear(&line);
	note(p, &line);
	put_line(out, "note", height - BOTTOM + 24, line.data);
	buf_text(out, "</g>\n<g id=\"boxes\">\n");
	buf_release(&title);
	buf_release(&line);
}

static void json_functions(struct picture *p, struct json *j, uint32_t *number)
{
	uint32_t count = 0;

	json_array(j, "functions");
	for (size_t i = 1; i < p->count; i++) {
		uint32_t function = p->flame.nodes[p->boxes[i].node].function;

		if (number[function])
			continue;
		number[function] = ++count;
		json_array(j, NULL);
		buf_clear(&p->text);
		flame_name(&p->flame, function, &p->text);
		json_text(j, NULL, p->text.data);
		buf_clear(&p->text);
		put_where(p, function, &p->text);
		json_bytes(j, NULL, p->text.data ? p->text.data : "", p->text.size);
		json_end_array(j);
	}
	json_end_array(j);
}

/* For the script: each function once, and of each box its parent, function and weights.  Function
 * 0 stands for the whole. */
static void put_table(struct picture *p, struct buf *out)
{
	uint32_t *number = xcalloc(p->flame.functions.count + 1, sizeof(*number));
	struct buf text = { 0 };
	struct json j;

	json_init(&j, &text);
	j.compact = true;
	json_object(&j, NULL);
	json_bool(&j, "by_count", p->x->by_count);
	json_functions(p, &j, number);
	json_array(&j, "parents");
	for (size_t i = 0; i < p->count; i++)
		json_number(&j, NULL, p->boxes[i].parent);
	json_end_array(&j);
	json_array(&j, "names");
	for (size_t i = 0; i < p->count; i++)
		json_number(&j, NULL, i ? number[p->flame.nodes[p->boxes[i].node].function] : 0);
	json_end_array(&j);
	json_array(&j, "bytes");
	for (size_t i = 0; i < p->count; i++)
		json_number(&j, NULL, flame_weight(&p->flame, p->boxes[i].node, 0)->bytes);
	json_end_array(&j);
	json_array(&j, "counts");
	for (size_t i = 0; i < p->count; i++)
		json_number(&j, NULL, flame_weight(&p->flame, p->boxes[i].node, 0)->count);
	json_end_array(&j);
	json_end_object(&j);
	buf_text(out, "<script id=\"table\" type=\"application/json\">");
	xml_json(out, &text);
	buf_text(out, "</script>\n");
	buf_release(&text);
	free(number);
}

static int write_flamegraph(const struct export *x, struct sink *out, struct err *err)
{
	struct picture p = { .x = x };

	flame_init(&p.flame, x->view, &x->measuring, 1);
	p.total = weight_of(&p, FLAME_ROOT);
	choose(&p);
	place(&p);
	put_head(&p, &out->buf);
	for (size_t i = 0; i < p.count && !sink_turn(out); i++) {
		put_box(&p, &p.boxes[i], &out->buf);
		export_progress(x, i, p.count);
	}
	buf_text(&out->buf, "</g>\n");
	put_table(&p, &out->buf);
	buf_text(&out->buf, "<script><![CDATA[\n");
	buf_text(&out->buf, asset_flamegraph_js);
	buf_text(&out->buf, "]]></script>\n</svg>\n");
	buf_release(&p.text);
	free(p.boxes);
	flame_release(&p.flame);
	return out->error;
}

const struct exporter exporter_flamegraph = {
	.name = "flamegraph",
	.extension = "svg",
	.mime = "image/svg+xml",
	.viewer = "any browser (zoom and search), any viewer of SVG",
	.help = "a flame graph, as one picture that zooms and searches",
	.one_measure = true,
	.write = write_flamegraph,
};
