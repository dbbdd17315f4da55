/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The screen of memoir jemalloc watch.  See watch_view.h. */
#include "cli/jemalloc/watch_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/screen.h"
#include "jemalloc/advice.h"
#include "jemalloc/merge.h"
#include "jemalloc/waterfall.h"
#include "jemalloc/when.h"

#define ARENA_ROWS 8 /* at most, so that there is room for classes */
#define ROWS_WITHOUT_LIMIT 20

/* A slope as bytes; what no number of bytes can be is the largest one. */
static uint64_t as_bytes(double slope)
{
	if (slope < 0)
		slope = -slope;
	return slope < 9e18 ? (uint64_t)slope : INT64_MAX;
}

/* "+1.00 MiB/s", or nothing where it does not change. */
static const char *pace(struct human *h, const struct growth *g, const struct growth_class *c)
{
	double slope = c ? c->slope : 0;
	struct human size;

	h->text[0] = 0;
	if (!c || g->sample_count < 2 || (slope < 0.5 && slope > -0.5))
		return h->text;
	human_size(&size, as_bytes(slope));
	snprintf(h->text, sizeof(h->text), "%c%.30s%s", slope < 0 ? '-' : '+', size.text,
		 g->clock == GROWTH_SNAPSHOTS ? "" : "/s");
	return h->text;
}

static void draw_head(struct screen_lines *s, const struct watch_view *v)
{
	const struct stats *st = v->stats;
	char time[40], version[32];

	if (!st) {
		screen_linef(s, "{strong}memoir jemalloc watch{}  %s", v->source);
		return;
	}
	snprintf(version, sizeof(version), "%.*s", (int)strspn(st->version, "0123456789."),
		 st->version);
	/* What is long comes last, since that is what a narrow screen cuts. */
	screen_linef(s, "%s{strong}jemalloc %s{}%s%s  every %s  %s taken  %.19s  %s",
		     v->paused ? "PAUSED  " : "", version,
		     stats_uptime(st) < STATS_NONE ? "  up " : "",
		     stats_uptime(st) < STATS_NONE ? duration_text(stats_uptime(st)) : "",
		     duration_text(v->interval_ns), count_text(v->snapshots),
		     v->time_ns == WHEN_NONE ? "" : when_text(v->time_ns, time), v->source);
}

static void total(struct buf *text, const struct screen_lines *s, const char *name,
		  const char *value)
{
	term_printf(s->term, text, "%s%s {number}%s{}", text->size ? "   " : "", name, value);
}

static void draw_totals(struct screen_lines *s, const struct stats *st, const struct waterfall *w)
{
	static const unsigned fields[2][3] = {
		{ STATS_TOTAL_ALLOCATED, STATS_TOTAL_ACTIVE, STATS_TOTAL_RESIDENT },
		{ STATS_TOTAL_METADATA, STATS_TOTAL_MAPPED, STATS_TOTAL_RETAINED },
	};
	uint64_t active = stats_known(st->total[STATS_TOTAL_ACTIVE]);
	uint64_t allocated = stats_known(st->total[STATS_TOTAL_ALLOCATED]);
	auto_buf struct buf text = { 0 };

	for (unsigned row = 0; row < 2; row++) {
		for (unsigned i = 0; i < 3; i++)
			if (st->total[fields[row][i]] < STATS_NONE)
				total(&text, s, stats_total_fields[fields[row][i]].name,
				      size_text(st->total[fields[row][i]]));
		if (!row && active && active >= allocated)
			total(&text, s, "fragmentation", share_text(active - allocated, active));
		if (row)
			total(&text, s, "dirty", size_text((uint64_t)w->step[WATERFALL_DIRTY]));
		screen_line(s, text.data, text.size);
		buf_clear(&text);
	}
}

static void part(struct buf *out, unsigned *left, uint64_t bytes, uint64_t whole, unsigned room,
		 const char *mark)
{
	unsigned n = bytes >= whole ? room : (unsigned)((double)bytes / (double)whole * room + 0.5);

	if (!n && bytes)
		n = 1;
	for (; n && *left; n--, (*left)--)
		buf_text(out, mark);
}

/* What is resident as one bar: the program's, free in slabs and padding, dirty, jemalloc's own. */
static void draw_bar(struct screen_lines *s, const struct waterfall *w)
{
	unsigned room = s->width > 76 ? s->width - 46 : 30, left = room;
	auto_buf struct buf text = { 0 };

	if (w->resident >= STATS_NONE || w->active >= STATS_NONE || w->allocated >= STATS_NONE)
		return;
	part(&text, &left, w->allocated, w->resident, room, "█");
	part(&text, &left, w->active > w->allocated ? w->active - w->allocated : 0, w->resident,
	     room, "▒");
	part(&text, &left, (uint64_t)w->step[WATERFALL_DIRTY], w->resident, room, "░");
	part(&text, &left, left, left, left, "·");
	buf_printf(&text, "  █ allocated ▒ free inside ░ dirty · own");
	screen_line(s, text.data, text.size);
}

static const char *share(struct human *h, uint64_t bytes, uint64_t of)
{
	if (of)
		return human_share(h, bytes, of);
	strcpy(h->text, "-");
	return h->text;
}

/* Narrower screens have no room for all columns. */
static bool is_narrow(const struct screen_lines *s)
{
	return s->width && s->width < 79;
}

static void draw_arenas(struct screen_lines *s, const struct watch_view *v, unsigned rows)
{
	struct live_rows e = { 0 };
	struct human c, f;
	bool narrow = is_narrow(s);
	char more[64];

	live_rows_arenas(&e, v->stats, v->arenas, v->sort);
	screen_linef(s, "{title}%6s %11s %11s %7s %13s%s", "arena", "allocated", "active", "free",
		     "growth", narrow ? "" : "        dirty   threads");
	for (size_t i = 0; i < e.count && i < rows; i++) {
		snprintf(more, sizeof(more), " %12s %9" PRIu64, size_text(e.list[i].dirty),
			 e.list[i].count);
		screen_linef(s, "%6" PRIu64 " %11s %11s %7s %13s%s", e.list[i].key,
			     size_text(e.list[i].bytes), size_text(e.list[i].active),
			     share(&c, e.list[i].free_bytes, e.list[i].active),
			     pace(&f, v->arenas, e.list[i].growth), narrow ? "" : more);
	}
	free(e.list);
}

static void draw_classes(struct screen_lines *s, const struct watch_view *v,
			 const struct stats_arena *whole, unsigned rows)
{
	struct live_rows e = { 0 };
	struct human c, f;
	bool narrow = is_narrow(s);
	int wide = narrow ? 10 : 11;

	live_rows_classes(&e, whole, v->classes, v->sort);
	screen_linef(s, "{title}%10s %*s %*s %7s%s %13s", "class", wide, "allocated", wide,
		     "blocks", "free", narrow ? "" : "   free bytes", "growth");
	for (size_t i = 0; i < e.count && i < rows; i++) {
		const struct growth_class *growth = e.list[i].growth;
		bool suspect = growth && growth->suspect;
		char free_bytes[32];

		snprintf(free_bytes, sizeof(free_bytes), " %12s", size_text(e.list[i].free_bytes));
		screen_linef(s, "%s%10" PRIu64 " %*s %*s %7s%s %13s%s",
			     suspect ? term_style(s->term, STYLE_WARNING) : "", e.list[i].key, wide,
			     size_text(e.list[i].bytes), wide, count_text(e.list[i].count),
			     share(&c, e.list[i].free_bytes, e.list[i].active),
			     narrow ? "" : free_bytes, pace(&f, v->classes, growth),
			     suspect ? " leak?" : "");
	}
	free(e.list);
}

static void draw_suspect(struct screen_lines *s, const struct watch_view *v)
{
	size_t count;
	auto_free const struct growth_class **list = growth_rank(v->classes, &count);
	auto_free const struct growth_class **arenas = NULL;
	char early[GROWTH_EARLY_MAX];
	size_t arena_count;

	arenas = growth_rank(v->arenas, &arena_count);
	if (!count || !list[0]->steady)
		return;
	screen_linef(s, "%sblocks of %" PRIu64 " bytes grow steadily: %s%s, now %s",
		     list[0]->suspect ? term_style(s->term, STYLE_WARNING) : "", list[0]->size,
		     size_text(as_bytes(list[0]->slope *
					(v->classes->clock == GROWTH_SNAPSHOTS ? 1 : 3600))),
		     v->classes->clock == GROWTH_SNAPSHOTS ? " a snapshot" : " an hour",
		     size_text(list[0]->last));
	growth_early_text(v->classes, early);
	if (*early)
		screen_linef(s, "{dim}%s", early);
}

static void draw_advice(struct screen_lines *s, const struct watch_view *v,
			const struct stats_arena *whole, const struct waterfall *w)
{
	struct advice list[ADVICE_MAX];
	unsigned count = advice_make(list, v->stats, whole, w);

	if (count && list[0].weight == ADVICE_DO)
		screen_linef(s, "%s {dim}MALLOC_CONF=%s", list[0].what, list[0].setting);
}

static void draw_keys(struct screen_lines *s, const struct watch_view *v)
{
	screen_linef(s, "{dim}by %s   s size   g growth   f free   p pause   q quit",
		     live_sorts[v->sort]);
}

void watch_view_draw(struct buf *out, const struct watch_view *v, const struct term *t,
		     unsigned width, unsigned height)
{
	struct screen_lines s = { .out = out, .term = t, .width = width, .height = height };
	const struct stats_arena *whole = v->stats ? stats_merge(v->stats) : NULL;
	auto_release(waterfall_release) struct waterfall w = { 0 };
	unsigned rows, arenas = 0;

	draw_head(&s, v);
	if (v->wrong)
		screen_linef(&s, "{warning}%s", v->wrong);
	else if (!v->stats)
		screen_linef(&s, "waiting for the first snapshot");
	if (whole) {
		waterfall_make(&w, v->stats, whole);
		draw_totals(&s, v->stats, &w);
		draw_bar(&s, &w);
		draw_suspect(&s, v);
		draw_advice(&s, v, whole, &w);
		for (size_t i = 0; i < v->stats->arena_count; i++)
			arenas += v->stats->arenas[i].id >= 0;
		rows = height ? height > s.used + 4 ? height - s.used - 4 : 0
			      : ROWS_WITHOUT_LIMIT + arenas;
		if (arenas > ARENA_ROWS)
			arenas = ARENA_ROWS;
		if (arenas > rows / 2)
			arenas = rows / 2;
		screen_linef(&s, "%s", "");
		draw_arenas(&s, v, arenas);
		draw_classes(&s, v, whole, rows - arenas);
	} else if (v->stats) {
		draw_totals(&s, v->stats, &w);
	}
	if (height) {
		while (s.used + 1 < height)
			screen_linef(&s, "%s", "");
		draw_keys(&s, v);
	}
}
