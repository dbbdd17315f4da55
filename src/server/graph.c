/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/graph: the curve of a filter's bytes over the run, as a small SVG picture. */
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/series.h"
#include "server/request.h"

#define LEFT 72 /* pixels for words */
#define BOTTOM 24
#define TOP 20
#define RIGHT 10
#define POINTS_MAX 1000

struct picture {
	uint32_t width, height;
	uint32_t left, top, right, bottom; /* borders of the curve */
	uint64_t most;
};

static void draw_series(struct buf *out, const struct picture *p, const struct series *s,
			const char *style)
{
	double width = p->width - p->left - p->right, height = p->height - p->top - p->bottom;

	buf_printf(out, "<path %s d=\"M%u %.1f", style, p->left, p->top + height);
	for (uint32_t i = 0; i < s->count; i++) {
		double y =
			p->top + height * (1 - (double)s->points[i].most_bytes / (double)p->most);

		buf_printf(out, "L%.1f %.1fL%.1f %.1f", p->left + width * i / s->count, y,
			   p->left + width * (i + 1) / s->count, y);
	}
	buf_printf(out, "L%.1f %.1fZ\"/>", p->left + width, p->top + height);
}

static void draw_axes(struct buf *out, const struct picture *p, const struct model *m)
{
	double width = p->width - p->left - p->right, height = p->height - p->top - p->bottom;

	for (unsigned i = 0; i <= 4; i++) {
		double y = p->top + height * (1 - i / 4.0), x = p->left + width * i / 4;

		buf_printf(out,
			   "<path stroke=\"#888\" stroke-opacity=\".3\" fill=\"none\" d=\"M%u "
			   "%.1fH%.1f\"/><text x=\"%u\" y=\"%.1f\" "
			   "text-anchor=\"end\">%s</text>",
			   p->left, y, p->left + width, p->left - 6, y + 4,
			   size_text(p->most / 4 * i));
		buf_printf(out, "<text x=\"%.1f\" y=\"%u\" text-anchor=\"%s\">%s</text>", x,
			   p->height - 8,
			   !i	    ? "start"
			   : i == 4 ? "end"
				    : "middle",
			   duration_text(model_runtime_ns(m) / 4 * i));
	}
}

static uint64_t most_of(const struct series *s)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < s->count; i++)
		most = s->points[i].most_bytes > most ? s->points[i].most_bytes : most;
	return most;
}

static void draw(struct request *r, struct buf *out, struct picture *p, const struct series *s,
		 const struct series *all)
{
	bool preview = ask_bool(&r->ask, "preview");

	p->most = most_of(all ? all : s);
	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"11\" "
		   "fill=\"#777\">",
		   p->width, p->height, p->width, p->height);
	if (!preview)
		draw_axes(out, p, r->ask.snapshot->model);
	if (all)
		draw_series(out, p, all, "fill=\"#888\" fill-opacity=\".4\"");
	draw_series(out, p, s, "fill=\"#0d9488\"");
	if (!preview) {
		buf_printf(out, "<text x=\"%u\" y=\"13\">Matched: at most %s", p->left,
			   size_text(most_of(s)));
		if (all)
			buf_printf(out, " \xc2\xb7 Global: at most %s", size_text(most_of(all)));
		buf_text(out, "</text>");
	}
	buf_text(out, "</svg>\n");
}

/* All that the same stacks allocated, if that may be more than what matches. */
static struct held_view *take_global(struct request *r)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	bool more = false;
	struct filter *f;

	for (size_t i = 0; i < r->ask.params.count; i++)
		more |= !r->ask.params.rows[i].row &&
			strcmp(r->ask.params.rows[i].name, "backtraces") != 0;
	if (!more || !ask_has(&r->ask, "backtraces"))
		return NULL;
	f = filter_new();
	filter_add(f, "backtraces", ask_text(&r->ask, "backtraces"), NULL);
	return views_take(&r->ask.snapshot->views, r->ask.snapshot->model,
			  r->ask.snapshot->locations, f, &err);
}

static int answer_graph(struct request *r, struct sink *out)
{
	bool preview = ask_bool(&r->ask, "preview");
	struct picture p = { .width = ask_count(&r->ask, "width"),
			     .height = ask_count(&r->ask, "height") };
	const struct view *v;
	struct held_view *global;
	struct series s, all;
	uint64_t from, to;
	uint32_t points;

	if (p.width < 40)
		return ask_fail(&r->ask, 400, "width", "it is at least 40");
	if (p.height < 20)
		return ask_fail(&r->ask, 400, "height", "it is at least 20");
	v = ask_view(&r->ask);
	if (!v)
		return -1;
	if (!preview && p.width > LEFT + RIGHT + 40 && p.height > TOP + BOTTOM + 20) {
		p.left = LEFT;
		p.right = RIGHT;
		p.top = TOP;
		p.bottom = BOTTOM;
	}
	points = p.width - p.left - p.right;
	points = points < POINTS_MAX ? points : POINTS_MAX;
	series_whole(v->model, &from, &to);
	global = take_global(r);
	series_init(&s, v, from, to, points);
	if (global)
		series_init(&all, global->view, from, to, points);
	draw(r, &out->buf, &p, &s, global ? &all : NULL);
	series_release(&s);
	if (global) {
		series_release(&all);
		views_give(&r->ask.snapshot->views, global);
	}
	return 0;
}

static const struct param_row params[] = {
	{ "preview", PARAM_BOOL, "false", "without axes and words" },
	{ "width", PARAM_COUNT, "640", "pixels", .max = 4000 },
	{ "height", PARAM_COUNT, "240", "pixels", .max = 2000 },
	{ 0 },
};

const struct route routes_graph[] = {
	{ "/data/{id}/graph", METHOD_GET, "the curve of a filter's bytes as a small picture",
	  .type = "image/svg+xml", .params = params, .filters = true, .answer = answer_graph },
	{ 0 },
};
