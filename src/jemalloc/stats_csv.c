/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One table of a series as CSV.  See stats_tables.h.
 *
 * Each line begins with the file, the number of the snapshot in it and its time; then come all
 * fields of the table, whether they have a value or not, so that lines of several files fit. */
#include <string.h>

#include "base/buf_text.h"
#include "base/csv.h"
#include "base/xalloc.h"
#include "jemalloc/advice.h"
#include "jemalloc/merge.h"
#include "jemalloc/stats_tables.h"
#include "jemalloc/when.h"

/* `names` with commas between them, then those of fields. */
static void begin(struct buf *out, struct stats_csv *c, const char *names,
		  const struct stats_field *fields, const struct stats_field *more)
{
	if (c->begun)
		return;
	c->begun = true;
	buf_printf(out, "file,snapshot,time%s%s", *names ? "," : "", names);
	for (unsigned i = 0; fields && *fields[i].name; i++)
		csv_cell(out, fields[i].name);
	for (unsigned i = 0; more && *more[i].name; i++)
		csv_cell(out, more[i].name);
	csv_end(out);
}

static void put_origin(struct buf *out, const struct stats_csv *c)
{
	char time[40];

	csv_cell(out, c->file);
	csv_number(out, c->number);
	if (c->time_ns == WHEN_NONE)
		csv_empty(out);
	else
		csv_cell(out, when_text(c->time_ns, time));
}

static void put_values(struct buf *out, const struct stats_field *fields, const uint64_t *row)
{
	for (unsigned i = 0; *fields[i].name; i++) {
		if (row[i] == STATS_NONE)
			csv_empty(out);
		else
			csv_signed(out, (int64_t)row[i]);
	}
}

static void put_table(struct buf *out, struct stats_csv *c, const struct stats_table *t,
		      const struct stats *s, const struct stats_arena *a)
{
	auto_free char *names =
		xasprintf("%s%s%s", t->of_arena ? "arena" : "", t->of_arena && t->label ? "," : "",
			  t->label ? t->label : "");
	auto_release(stats_table_rows_release) struct stats_table_rows r = { 0 };
	char number[24];

	begin(out, c, names, t->fields, NULL);
	stats_table_rows(t, s, a, c->sort, &r);
	for (size_t i = 0; i < r.count; i++) {
		put_origin(out, c);
		if (t->of_arena)
			csv_cell(out, stats_arena_name(a->id, number));
		if (t->label)
			csv_cell(out, r.labels[i]);
		put_values(out, t->fields, r.values[i]);
		csv_end(out);
	}
}

static void put_summary(struct buf *out, struct stats_csv *c, const struct stats *s)
{
	begin(out, c, "version", stats_total_fields, stats_shape_fields);
	put_origin(out, c);
	csv_cell(out, s->version);
	put_values(out, stats_total_fields, s->total);
	put_values(out, stats_shape_fields, s->shape);
	csv_end(out);
}

static void put_settings(struct buf *out, struct stats_csv *c, const struct stats *s)
{
	begin(out, c, "name,value", NULL, NULL);
	for (size_t i = 0; i < s->setting_count; i++) {
		put_origin(out, c);
		csv_cell(out, s->words.data + s->settings[i].name);
		csv_cell(out, s->words.data + s->settings[i].value);
		csv_end(out);
	}
}

static void put_waterfall(struct buf *out, struct stats_csv *c, const struct stats_arena *a,
			  const struct waterfall *w)
{
	char number[24];

	begin(out, c, "arena,step,bytes", NULL, NULL);
	for (unsigned i = 0; i < WATERFALL_STEP_COUNT; i++) {
		put_origin(out, c);
		csv_cell(out, stats_arena_name(a->id, number));
		csv_cell(out, waterfall_rows[i].name);
		csv_signed(out, w->step[i]);
		csv_end(out);
	}
}

static void put_advice(struct buf *out, struct stats_csv *c, const struct stats *s,
		       const struct stats_arena *whole, const struct waterfall *w)
{
	struct advice list[ADVICE_MAX];
	unsigned count = advice_make(list, s, whole, w);

	begin(out, c, "id,weight,bytes,what,evidence,malloc_conf,control", NULL, NULL);
	for (unsigned i = 0; i < count; i++) {
		put_origin(out, c);
		csv_cell(out, list[i].id);
		csv_cell(out, advice_weights[list[i].weight]);
		csv_number(out, list[i].bytes);
		csv_cell(out, list[i].what);
		csv_cell(out, list[i].evidence);
		csv_cell(out, list[i].setting);
		csv_cell(out, list[i].control);
		csv_end(out);
	}
}

void stats_csv_write(struct buf *out, struct stats_csv *c, struct stats *s)
{
	const struct stats_arena *whole = stats_merge(s), *a = stats_tables_arena(s, c->arena);
	bool advice = !strcmp(c->name, "advice"), waterfall = !strcmp(c->name, "waterfall");
	auto_release(waterfall_release) struct waterfall w = { 0 };

	if (!strcmp(c->name, "summary"))
		put_summary(out, c, s);
	if (!strcmp(c->name, "settings"))
		put_settings(out, c, s);
	if (waterfall && a) {
		waterfall_make(&w, s, a);
		put_waterfall(out, c, a, &w);
	}
	if (advice && whole) {
		waterfall_make(&w, s, whole);
		put_advice(out, c, s, whole, &w);
	}
	for (const struct stats_table *t = stats_tables; t->name; t++)
		if (!strcmp(c->name, t->name) && (a || !t->of_arena))
			put_table(out, c, t, s, a);
}

void stats_csv_write_growth(struct buf *out, struct stats_csv *c, struct growth *g)
{
	size_t count;
	auto_free const struct growth_class **list = growth_rank(g, &count);

	if (strcmp(c->name, "growth") != 0)
		return;
	if (!c->begun)
		buf_text(out, "file,size,kind,first_bytes,bytes,slope,unit,fit,steady,suspect\n");
	c->begun = true;
	for (size_t i = 0; i < count; i++) {
		csv_cell(out, c->file);
		csv_number(out, list[i]->size);
		csv_cell(out, list[i]->large ? "large" : "bin");
		csv_number(out, list[i]->first);
		csv_number(out, list[i]->last);
		csv_real(out, list[i]->slope, 3);
		csv_cell(out, g->clock == GROWTH_SNAPSHOTS ? "bytes/snapshot" : "bytes/second");
		csv_real(out, list[i]->fit, 3);
		csv_cell(out, list[i]->steady ? "true" : "false");
		csv_cell(out, list[i]->suspect ? "true" : "false");
		csv_end(out);
	}
}
