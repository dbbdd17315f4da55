/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/graph: the curve of a filter's bytes over the run, as a small SVG picture; and
 * /data/{id}/map_graph: that of a memory map. */
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/map_history.h"
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

struct curve {
	const char *label;
	uint64_t *values;
	uint32_t count;
};

static void draw_curve(struct buf *out, const struct picture *p, const struct curve *c,
		       const char *style)
{
	double width = p->width - p->left - p->right, height = p->height - p->top - p->bottom;

	buf_printf(out, "<path %s d=\"M%u %.1f", style, p->left, p->top + height);
	for (uint32_t i = 0; i < c->count; i++) {
		double y = p->top + height * (1 - (double)c->values[i] / (double)p->most);

		buf_printf(out, "L%.1f %.1fL%.1f %.1f", p->left + width * i / c->count, y,
			   p->left + width * (i + 1) / c->count, y);
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

static uint64_t most_of(const struct curve *c)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < c->count; i++)
		most = MAX(most, c->values[i]);
	return most;
}

/* `behind` may be NULL: what `c` is a part of. */
static void draw(struct request *r, struct buf *out, struct picture *p, const struct curve *c,
		 const struct curve *behind)
{
	bool preview = ask_bool(&r->ask, "preview");

	p->most = most_of(behind ? behind : c);
	buf_printf(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		   "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"11\" "
		   "fill=\"#777\">",
		   p->width, p->height, p->width, p->height);
	if (!preview)
		draw_axes(out, p, r->ask.snapshot->model);
	if (behind)
		draw_curve(out, p, behind, "fill=\"#888\" fill-opacity=\".4\"");
	draw_curve(out, p, c, "fill=\"#0d9488\"");
	if (!preview) {
		buf_printf(out, "<text x=\"%u\" y=\"13\">%s: at most %s", p->left, c->label,
			   size_text(most_of(c)));
		if (behind)
			buf_printf(out, " \xc2\xb7 %s: at most %s", behind->label,
				   size_text(most_of(behind)));
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

/* 0, or -1 after ask_fail(). */
static int measure_picture(struct request *r, struct picture *ret)
{
	*ret = (struct picture){ .width = ask_count(&r->ask, "width"),
				 .height = ask_count(&r->ask, "height") };
	if (ret->width < 40)
		return ask_fail(&r->ask, 400, "width", "it is at least 40");
	if (ret->height < 20)
		return ask_fail(&r->ask, 400, "height", "it is at least 20");
	if (!ask_bool(&r->ask, "preview") && ret->width > LEFT + RIGHT + 40 &&
	    ret->height > TOP + BOTTOM + 20) {
		ret->left = LEFT;
		ret->right = RIGHT;
		ret->top = TOP;
		ret->bottom = BOTTOM;
	}
	return 0;
}

static uint32_t points_of(const struct picture *p)
{
	return MIN(p->width - p->left - p->right, POINTS_MAX);
}

static void follow_view(struct curve *ret, const struct view *v, uint32_t points, const char *label)
{
	struct series s;
	uint64_t from, to;

	series_whole(v->model, &from, &to);
	series_init(&s, v, from, to, points);
	*ret = (struct curve){ .label = label, .count = s.count };
	ret->values = xcalloc((size_t)s.count + 1, sizeof(*ret->values));
	for (uint32_t i = 0; i < s.count; i++)
		ret->values[i] = s.points[i].most_bytes;
	series_release(&s);
}

static int answer_graph(struct request *r, struct sink *out)
{
	struct curve matched, all = { 0 };
	struct held_view *global;
	const struct view *v;
	struct picture p;

	if (measure_picture(r, &p))
		return -1;
	v = ask_view(&r->ask);
	if (!v)
		return -1;
	global = take_global(r);
	follow_view(&matched, v, points_of(&p), "Matched");
	if (global)
		follow_view(&all, global->view, points_of(&p), "Global");
	draw(r, &out->buf, &p, &matched, global ? &all : NULL);
	free(matched.values);
	free(all.values);
	if (global)
		views_give(&r->ask.snapshot->views, global);
	return 0;
}

/* The most that a map had within each part of the run. */
static void follow_map(const struct model *m, const struct map_row *row, struct curve *rss,
		       struct curve *space)
{
	const struct map_history *maps = model_maps(m);
	uint64_t from, to;
	uint32_t next = 0, count = rss->count;
	struct map_usage now = { 0 };

	series_whole(m, &from, &to);
	rss->values = xcalloc((size_t)count + 1, sizeof(*rss->values));
	space->values = xcalloc((size_t)count + 1, sizeof(*space->values));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t end = from + (uint64_t)((double)(to - from) * (i + 1) / count);

		rss->values[i] = now.bytes.rss;
		space->values[i] = now.address_space;
		while (next < row->usage_count &&
		       (maps->usages[row->first_usage + next].at <= end || i + 1 == count)) {
			now = maps->usages[row->first_usage + next++];
			rss->values[i] = MAX(rss->values[i], now.bytes.rss);
			space->values[i] = MAX(space->values[i], now.address_space);
		}
	}
}

static int answer_map_graph(struct request *r, struct sink *out)
{
	const struct model *m = r->ask.snapshot->model;
	const struct map_history *maps = model_maps(m);
	uint64_t map = strtoull(ask_text(&r->ask, "map"), NULL, 0);
	struct curve rss = { .label = "Resident" }, space = { .label = "Mapped" };
	struct picture p;

	if (measure_picture(r, &p))
		return -1;
	if (map >= maps->count)
		return ask_fail(&r->ask, 404, "map", "there is no such map");
	rss.count = space.count = points_of(&p);
	follow_map(m, &maps->rows[map], &rss, &space);
	draw(r, &out->buf, &p, &rss, &space);
	free(rss.values);
	free(space.values);
	return 0;
}

#define PARAMS_PICTURE                                                                             \
	{ "preview", PARAM_BOOL, "false", "without axes and words" },                              \
		{ "width", PARAM_COUNT, "640", "pixels", .max = 4000 },                            \
	{                                                                                          \
		"height", PARAM_COUNT, "240", "pixels", .max = 2000                                \
	}

static const struct param_row params[] = {
	PARAMS_PICTURE,
	{ 0 },
};

static const struct param_row map_params[] = {
	{ "map", PARAM_NUMBER, NULL, "its number", .required = true },
	PARAMS_PICTURE,
	{ 0 },
};

const struct route routes_graph[] = {
	{ "/data/{id}/graph", METHOD_GET, "the curve of a filter's bytes as a small picture",
	  .type = "image/svg+xml", .params = params, .filters = true, .answer = answer_graph },
	{ "/data/{id}/map_graph", METHOD_GET, "the curve of a memory map as a small picture",
	  .type = "image/svg+xml", .params = map_params, .answer = answer_map_graph },
	{ 0 },
};
