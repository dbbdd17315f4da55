/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs of scripts: curves of lists over time, one on top of the other.
 *
 * The half in Lua has the builder (lib/graph.lua); here is what it ends in, draw{…}.  Every list
 * that comes here has nothing of the ones before it, so that the areas add up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "draw/area_chart.h"
#include "query/map_series.h"
#include "query/series.h"
#include "script/list.h"
#include "script/maps.h"

#define MOMENTS 1000
#define SERIES_MOST 1000
#define PIXELS_MOST (8u << 20) /* of a PNG, which is in memory while it is drawn */

static const char *const measures[] = { "memory_usage",
					"live_allocations",
					"new_allocations",
					"deallocations",
					"rss",
					"address_space",
					NULL };

enum { MEMORY_USAGE, LIVE, NEW, FREED, RSS, ADDRESS_SPACE };

/* A picture while it is made, as a value, so that an error frees it. */
struct drawing {
	struct area *areas;
	double *values; /* MOMENTS of each */
	char **labels;
	size_t count;
	int measure;
	bool most; /* one series shows the most of each step, several what was alive at its end */
};

static int drawing_gc(lua_State *L)
{
	struct drawing *d = lua_touserdata(L, 1);

	for (size_t i = 0; d->labels && i < d->count; i++)
		free(d->labels[i]);
	free(d->labels);
	free(d->areas);
	free(d->values);
	*d = (struct drawing){ 0 };
	return 0;
}

static double point_value(const struct drawing *d, const struct series_point *p, double seconds)
{
	switch (d->measure) {
	case LIVE:
		return (double)(d->most ? p->most_count : p->count);
	case NEW:
		return (double)p->allocated_count / seconds;
	case FREED:
		return (double)p->freed_count / seconds;
	default:
		return (double)(d->most ? p->most_bytes : p->bytes);
	}
}

/* The engine's series of a list, MOMENTS long. */
static void allocation_values(lua_State *L, const struct drawing *d, struct script_list *l,
			      uint64_t from, uint64_t to, double *values)
{
	const struct view *v = script_list_view(L, l);
	const struct model *m = v->model;
	double seconds = (double)(model_ns(m, to) - model_ns(m, from)) / 1e9 / MOMENTS;
	struct series s;

	series_init(&s, v, from, to, MOMENTS);
	for (unsigned i = 0; i < MOMENTS; i++)
		values[i] = point_value(d, &s.points[i], seconds > 0 ? seconds : 1e-9);
	series_release(&s);
}

/* What the maps of a list had: the last change that is not later than each moment. */
static void map_values(const struct drawing *d, const struct script_maps *l, uint64_t from,
		       uint64_t to, double *values)
{
	struct view v = *l->data->maps->view;
	struct map_list chosen = *l->data->maps;
	struct map_point *points;
	size_t count, next = 0;
	double now = 0;

	v.bits = (uint64_t *)l->bits;
	chosen.view = &v;
	count = map_series(&chosen, 0, &points);
	for (unsigned i = 0; i < MOMENTS; i++) {
		uint64_t at = from + (uint64_t)((double)(to - from) * (i + 1) / MOMENTS);
		double most = now;

		for (; next < count && points[next].at <= at; next++) {
			now = (double)(d->measure == ADDRESS_SPACE ? points[next].address_space
								   : points[next].rss);
			most = now > most ? now : most;
		}
		values[i] = d->most ? most : now;
	}
	free(points);
}

static void compute(lua_State *L, struct drawing *d, uint64_t from, uint64_t to)
{
	lua_getfield(L, 1, "lists");
	for (size_t i = 0; i < d->count; i++) {
		double *values = d->values + i * MOMENTS;
		struct script_maps *maps;

		script_steps(L, 1);
		lua_rawgeti(L, -1, (lua_Integer)i + 1);
		maps = script_test(L, -1, &script_map_list_class);
		if (maps)
			map_values(d, maps, from, to, values);
		else
			allocation_values(L, d, script_check_list(L, -1), from, to, values);
		lua_pop(L, 1);
		d->areas[i].values = values;
	}
	lua_pop(L, 1);
}

static bool flag(lua_State *L, const char *name)
{
	bool yes;

	lua_getfield(L, 1, name);
	yes = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return yes;
}

/* A moment of the table: false where it is not there. */
static bool moment(lua_State *L, const char *name, const struct model *m, uint64_t *stamp)
{
	int64_t *ns;

	lua_getfield(L, 1, name);
	ns = script_test(L, -1, &script_duration_class);
	if (ns) {
		struct model_clock clock = model_clock(m);
		double ticks = (double)*ns / clock.ns_per_tick;

		if (*ns < 0 || ticks > 9e18)
			script_fail(L, "graph: %s is no moment of the recording", name);
		*stamp = clock.start + (uint64_t)ticks;
	}
	lua_pop(L, 1);
	return ns;
}

/* Leaves out the steps at the ends in which there is nothing. */
static void trim(const struct drawing *d, bool left, bool right, uint64_t *from, uint64_t *to)
{
	unsigned first = 0, last = MOMENTS;
	uint64_t width = *to - *from, start = *from;
	bool filled[MOMENTS] = { false };

	for (size_t i = 0; i < d->count * MOMENTS; i++)
		filled[i % MOMENTS] |= d->values[i] > 0;
	while (first < MOMENTS - 1 && !filled[first])
		first++;
	while (last > first + 1 && !filled[last - 1])
		last--;
	if (left)
		*from = start + (uint64_t)((double)width * first / MOMENTS);
	if (right)
		*to = start + (uint64_t)((double)width * last / MOMENTS);
	if (*to <= *from)
		*to = *from + 1;
}

static struct script_data *data_of(lua_State *L)
{
	struct script_maps *maps;
	struct script_data *d;

	lua_getfield(L, 1, "lists");
	lua_rawgeti(L, -1, 1);
	maps = script_test(L, -1, &script_map_list_class);
	d = maps ? maps->data : script_check_list(L, -1)->data;
	lua_pop(L, 2);
	return d;
}

static void take_labels(lua_State *L, struct drawing *d)
{
	lua_getfield(L, 1, "labels");
	lua_getfield(L, 1, "colours");
	for (size_t i = 0; i < d->count; i++) {
		lua_rawgeti(L, -2, (lua_Integer)i + 1);
		d->labels[i] = xstrdup(lua_tostring(L, -1) ? lua_tostring(L, -1) : "");
		lua_pop(L, 1);
		d->areas[i].label = d->labels[i];
		d->areas[i].colour = area_chart_colour(i);
		if (lua_istable(L, -1)) {
			lua_rawgeti(L, -1, (lua_Integer)i + 1);
			d->areas[i].colour = (uint32_t)lua_tointeger(L, -1) & 0xffffff;
			lua_pop(L, 1);
		}
	}
	lua_pop(L, 2);
}

static unsigned pixels(lua_State *L, const char *name, unsigned otherwise)
{
	lua_Integer n;

	lua_getfield(L, 1, name);
	n = luaL_optinteger(L, -1, otherwise);
	lua_pop(L, 1);
	if (n < 100 || n > 10000)
		script_fail(L, "graph: %s is 100 to 10000", name);
	return (unsigned)n;
}

/* draw{lists, labels, colours, measure, from, to, trim_left, trim_right, width, height, legend,
 * axes, grid, png}: SVG, or PNG. */
static int draw(lua_State *L)
{
	struct drawing *d;
	struct script_data *data;
	const struct model *m;
	struct area_chart chart = { 0 };
	struct buf *out;
	uint64_t from, to;
	lua_Integer count;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_getfield(L, 1, "lists");
	count = (lua_Integer)lua_rawlen(L, -1);
	lua_pop(L, 1);
	if (count < 1)
		return script_fail(L, "graph: there is nothing to draw; add(list) adds something");
	if (count > SERIES_MOST)
		return script_fail(L, "graph: more than %d series", SERIES_MOST);
	data = data_of(L);
	m = data->snapshot->model;
	d = lua_newuserdatauv(L, sizeof(*d), 0);
	*d = (struct drawing){ .count = (size_t)count, .most = count == 1 };
	if (luaL_newmetatable(L, "memoir.drawing")) {
		lua_pushcfunction(L, drawing_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	lua_getfield(L, 1, "measure");
	d->measure = luaL_checkoption(L, -1, NULL, measures);
	lua_pop(L, 1);
	d->areas = xcalloc(d->count, sizeof(*d->areas));
	d->labels = xcalloc(d->count, sizeof(*d->labels));
	d->values = xcalloc(d->count * MOMENTS, sizeof(*d->values));
	take_labels(L, d);
	series_whole(m, &from, &to);
	if (flag(L, "trim_left") || flag(L, "trim_right")) {
		compute(L, d, from, to);
		trim(d, flag(L, "trim_left"), flag(L, "trim_right"), &from, &to);
	}
	moment(L, "from", m, &from);
	moment(L, "to", m, &to);
	if (to <= from)
		return script_fail(L, "graph: it ends before it starts");
	chart.width = pixels(L, "width", 1024);
	chart.height = pixels(L, "height", 768);
	chart.png = flag(L, "png");
	if (chart.png && (uint64_t)chart.width * chart.height > PIXELS_MOST)
		return script_fail(L, "graph: a PNG has at most %u pixels", PIXELS_MOST);
	compute(L, d, from, to);
	chart.areas = d->areas;
	chart.area_count = d->count;
	chart.steps = MOMENTS;
	chart.from = model_ns(m, from);
	chart.to = model_ns(m, to);
	if (chart.to <= chart.from)
		chart.to = chart.from + 1;
	chart.start = model_start_ns(m);
	chart.bytes = d->measure == MEMORY_USAGE || d->measure >= RSS;
	chart.unit = d->measure == NEW || d->measure == FREED ? "per second" : "";
	chart.legend = flag(L, "legend");
	chart.axes = flag(L, "axes");
	chart.grid = flag(L, "grid");
	out = script_text(L, TEXT_ONE);
	area_chart_draw(&chart, out);
	lua_pushlstring(L, out->data, out->size);
	return 1;
}

void script_drawing_open(lua_State *L)
{
	lua_pushcfunction(L, draw);
	lua_setfield(L, -2, "draw");
}
