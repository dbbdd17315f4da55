/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One table of a series as CSV.  See stats_tables.h.
 *
 * Each line begins with the file, the number of the snapshot in it and its time; then come all
 * fields of the table, whether they have a value or not, so that lines of several files fit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/jemalloc/stats_tables.h"
#include "cli/table.h"
#include "jemalloc/advice.h"
#include "jemalloc/merge.h"
#include "jemalloc/when.h"

static void head(struct buf *out, struct stats_csv *c, const char *const *names,
		 const struct stats_field *fields, const struct stats_field *more)
{
	if (c->begun)
		return;
	c->begun = true;
	csv_cell(out, "file");
	csv_cell(out, "snapshot");
	csv_cell(out, "time");
	for (; *names; names++)
		csv_cell(out, *names);
	for (unsigned i = 0; fields && *fields[i].name; i++)
		csv_cell(out, fields[i].name);
	for (unsigned i = 0; more && *more[i].name; i++)
		csv_cell(out, more[i].name);
	csv_end(out);
}

/* An empty cell; csv_cell() quotes it. */
static void empty(struct buf *out)
{
	buf_char(out, ',');
}

static void origin(struct buf *out, const struct stats_csv *c)
{
	char time[40];

	csv_cell(out, c->file);
	csv_number(out, c->number);
	if (c->time_ns == WHEN_NONE)
		empty(out);
	else
		csv_cell(out, when_text(c->time_ns, time));
}

static void signed_cell(struct buf *out, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	csv_cell(out, text);
}

static void values(struct buf *out, const struct stats_field *fields, const uint64_t *row)
{
	for (unsigned i = 0; *fields[i].name; i++) {
		if (row[i] == STATS_NONE)
			empty(out);
		else
			signed_cell(out, (int64_t)row[i]);
	}
}

#define NAMES(...)                                                                                 \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static void summary(struct buf *out, struct stats_csv *c, const struct stats *s)
{
	head(out, c, NAMES("version"), stats_total_fields, stats_shape_fields);
	origin(out, c);
	csv_cell(out, s->version);
	values(out, stats_total_fields, s->total);
	values(out, stats_shape_fields, s->shape);
	csv_end(out);
}

static void arenas(struct buf *out, struct stats_csv *c, const struct stats *s)
{
	char number[24];

	head(out, c, NAMES("arena"), stats_arena_fields, NULL);
	for (size_t i = 0; i < s->arena_count; i++) {
		origin(out, c);
		csv_cell(out, stats_arena_name(s->arenas[i].id, number));
		values(out, stats_arena_fields, s->arenas[i].value);
		csv_end(out);
	}
}

static void mutexes(struct buf *out, struct stats_csv *c, const struct stats *s)
{
	head(out, c, NAMES("mutex"), stats_mutex_fields, NULL);
	for (size_t i = 0; i < s->mutexes.count; i++) {
		origin(out, c);
		csv_cell(out, s->mutexes.list[i].name);
		values(out, stats_mutex_fields, s->mutexes.list[i].value);
		csv_end(out);
	}
}

static void settings(struct buf *out, struct stats_csv *c, const struct stats *s)
{
	head(out, c, NAMES("name", "value"), NULL, NULL);
	for (size_t i = 0; i < s->setting_count; i++) {
		origin(out, c);
		csv_cell(out, s->words.data + s->settings[i].name);
		csv_cell(out, s->words.data + s->settings[i].value);
		csv_end(out);
	}
}

static void waterfall(struct buf *out, struct stats_csv *c, const struct stats *s,
		      const struct stats_arena *a)
{
	struct waterfall w = { 0 };
	char number[24];

	head(out, c, NAMES("arena", "step", "bytes"), NULL, NULL);
	waterfall_make(&w, s, a);
	for (unsigned i = 0; i < WATERFALL_STEP_COUNT; i++) {
		origin(out, c);
		csv_cell(out, stats_arena_name(a->id, number));
		csv_cell(out, waterfall_rows[i].name);
		signed_cell(out, w.step[i]);
		csv_end(out);
	}
	waterfall_release(&w);
}

static void advice(struct buf *out, struct stats_csv *c, const struct stats *s,
		   const struct stats_arena *whole)
{
	struct advice list[ADVICE_MAX];
	struct waterfall w = { 0 };
	unsigned count;

	head(out, c, NAMES("id", "weight", "bytes", "what", "evidence", "malloc_conf", "control"),
	     NULL, NULL);
	waterfall_make(&w, s, whole);
	count = advice_make(list, s, whole, &w);
	for (unsigned i = 0; i < count; i++) {
		origin(out, c);
		csv_cell(out, list[i].id);
		csv_cell(out, advice_weights[list[i].weight]);
		csv_number(out, list[i].bytes);
		csv_cell(out, list[i].what);
		csv_cell(out, list[i].evidence);
		csv_cell(out, list[i].setting);
		csv_cell(out, list[i].control);
		csv_end(out);
	}
	waterfall_release(&w);
}

static void classes(struct buf *out, struct stats_csv *c, const struct stats_arena *a)
{
	struct stats_tables_rows r;
	const struct stats_field *fields = stats_tables_rows(c->name, a, c->tables->sort, &r);
	char number[24];

	if (!fields)
		return;
	if (r.labels)
		head(out, c, NAMES("arena", "mutex"), fields, NULL);
	else
		head(out, c, NAMES("arena"), fields, NULL);
	for (size_t i = 0; i < r.count; i++) {
		origin(out, c);
		csv_cell(out, stats_arena_name(a->id, number));
		if (r.labels)
			csv_cell(out, r.labels[i]);
		values(out, fields, r.values[i]);
		csv_end(out);
	}
	stats_tables_rows_release(&r);
}

void stats_csv(struct buf *out, struct stats_csv *c, struct stats *s)
{
	const struct stats_arena *whole = stats_merge(s);
	const struct stats_arena *a = stats_tables_arena(s, c->tables->arena);

	if (!strcmp(c->name, "summary"))
		summary(out, c, s);
	else if (!strcmp(c->name, "arenas"))
		arenas(out, c, s);
	else if (!strcmp(c->name, "global-mutexes"))
		mutexes(out, c, s);
	else if (!strcmp(c->name, "settings"))
		settings(out, c, s);
	else if (!strcmp(c->name, "advice") && whole)
		advice(out, c, s, whole);
	else if (!strcmp(c->name, "waterfall") && a)
		waterfall(out, c, s, a);
	else if (a)
		classes(out, c, a);
}

void stats_csv_growth(struct buf *out, struct stats_csv *c, struct growth *g)
{
	size_t count;
	auto_free const struct growth_class **list = growth_rank(g, &count);

	if (strcmp(c->name, "growth") != 0)
		return;
	if (!c->begun) {
		c->begun = true;
		buf_text(out, "file,size,kind,first_bytes,bytes,slope,unit,fit,steady,suspect\n");
	}
	for (size_t i = 0; i < count; i++) {
		char text[64];

		csv_cell(out, c->file);
		csv_number(out, list[i]->size);
		csv_cell(out, list[i]->large ? "large" : "bin");
		csv_number(out, list[i]->first);
		csv_number(out, list[i]->last);
		snprintf(text, sizeof(text), "%.3f", list[i]->slope);
		csv_cell(out, text);
		csv_cell(out, g->clock == GROWTH_SNAPSHOTS ? "bytes/snapshot" : "bytes/second");
		snprintf(text, sizeof(text), "%.3f", list[i]->fit);
		csv_cell(out, text);
		csv_cell(out, list[i]->steady ? "true" : "false");
		csv_cell(out, list[i]->suspect ? "true" : "false");
		csv_end(out);
	}
}
