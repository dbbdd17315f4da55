/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A snapshot as JSON.  See stats_write.h. */
#include "jemalloc/stats_write.h"

#include <stdlib.h>
#include <string.h>

#include "jemalloc/advice.h"
#include "jemalloc/merge.h"

void stats_write_fields(struct json *j, const struct stats_field *fields, const uint64_t *values)
{
	for (unsigned i = 0; *fields[i].name; i++)
		if (values[i] != STATS_NONE)
			json_signed(j, fields[i].name, (int64_t)values[i]);
}

static void write_rows(struct json *j, const char *key, const struct stats_field *fields,
		       const struct stats_rows *r)
{
	JSON_ROWS(j, key, i, r->count)
		stats_write_fields(j, fields, stats_row(r, i));
}

/* With what is used of its slabs, and what is free in them. */
static void write_bins(struct json *j, const struct stats_rows *r)
{
	JSON_ROWS(j, "bins", i, r->count) {
		const uint64_t *b = stats_row(r, i);
		uint64_t regions = b[STATS_BIN_NREGS] * b[STATS_BIN_CURSLABS];

		stats_write_fields(j, stats_bin_fields, b);
		if (b[STATS_BIN_NREGS] < STATS_NONE && b[STATS_BIN_CURSLABS] < STATS_NONE &&
		    b[STATS_BIN_CURREGS] < STATS_NONE && b[STATS_BIN_SIZE] < STATS_NONE) {
			if (stats_bin_util(b) < STATS_NO_UTIL)
				json_real(j, "util", stats_bin_util(b) / 1000.0, 3);
			json_signed(
				j, "free_bytes",
				(int64_t)((regions - b[STATS_BIN_CURREGS]) * b[STATS_BIN_SIZE]));
		}
	}
}

static void write_mutexes(struct json *j, const struct stats_mutexes *m)
{
	JSON_ROWS(j, "mutexes", i, m->count) {
		json_text(j, "name", m->list[i].name);
		stats_write_fields(j, stats_mutex_fields, m->list[i].value);
	}
}

static void write_hpa(struct json *j, const struct stats_arena *a)
{
	json_object(j, "hpa");
	stats_write_fields(j, stats_hpa_fields, a->hpa);
	write_rows(j, "slabs", stats_slab_fields, &a->slabs);
	json_end_object(j);
}

static void write_total(struct json *j, const char *key, uint64_t value)
{
	json_number_if(j, key, value < STATS_NONE, value);
}

/* The steps of one arena. */
static void stats_write_waterfall(struct json *j, const char *key, const struct waterfall *w)
{
	json_object(j, key);
	write_total(j, "mapped", w->mapped);
	write_total(j, "retained", w->retained);
	write_total(j, "resident", w->resident);
	write_total(j, "active", w->active);
	write_total(j, "allocated", w->allocated);
	write_total(j, "program", w->program);
	JSON_MEMBERS(j, w, attributed, large_count);
	JSON_ROWS(j, "steps", i, WATERFALL_STEP_COUNT) {
		JSON_MEMBERS(j, &waterfall_rows[i], name, label);
		json_text(j, "from",
			  i < WATERFALL_SLABS	 ? "resident"
			  : i < WATERFALL_TCACHE ? "active"
						 : "allocated");
		json_signed(j, "bytes", w->step[i]);
	}
	json_object(j, "sampled");
	JSON_MEMBERS(j, &w->sampled, count, estimated);
	json_end_object(j);
	JSON_ROWS(j, "bins", i, w->bin_count) {
		JSON_MEMBERS(j, &w->bins[i], size, slabs, regions, used, bytes);
	}
	json_end_object(j);
}

static void write_advice(struct json *j, const struct stats *s, const struct stats_arena *whole,
			 const struct waterfall *w)
{
	struct advice list[ADVICE_MAX];
	unsigned count = advice_make(list, s, whole, w);

	JSON_ROWS(j, "advice", i, count) {
		json_text(j, "id", list[i].id);
		json_text(j, "weight", advice_weights[list[i].weight]);
		JSON_MEMBERS(j, &list[i], bytes, what, evidence);
		json_text(j, "malloc_conf", *list[i].setting ? list[i].setting : NULL);
		json_text(j, "control", *list[i].control ? list[i].control : NULL);
	}
}

static void write_arena(struct json *j, const struct stats *s, const struct stats_arena *a,
			struct waterfall *w)
{
	char number[24];

	json_text(j, "arena", stats_arena_name(a->id, number));
	stats_write_fields(j, stats_arena_fields, a->value);
	write_bins(j, &a->bins);
	write_rows(j, "large", stats_large_fields, &a->large);
	write_rows(j, "extents", stats_extent_fields, &a->extents);
	write_mutexes(j, &a->mutexes);
	write_hpa(j, a);
	waterfall_make(w, s, a);
	stats_write_waterfall(j, "waterfall", w);
}

static void write_corrections(struct json *j, const struct stats *s)
{
	char line[STATS_CORRECTION_MAX];

	json_array(j, "corrections");
	for (unsigned i = 0; stats_correction(s, i, line); i++)
		if (*line)
			json_text(j, NULL, line);
	json_end_array(j);
}

/* What follows from several places; null where one of them was not printed. */
static void write_summary(struct json *j, const struct stats *s, const struct stats_arena *whole)
{
	uint64_t allocated = s->total[STATS_TOTAL_ALLOCATED], active = s->total[STATS_TOTAL_ACTIVE];
	uint64_t dirty = whole ? whole->value[STATS_ARENA_PDIRTY] : STATS_NONE;
	uint64_t page = s->shape[STATS_SHAPE_PAGE], live = 0;
	const char *rate = stats_setting(s, "opt.lg_prof_sample");
	const char *prof = stats_setting(s, "opt.prof");

	for (size_t i = 0; i < s->arena_count; i++)
		live += s->arenas[i].id >= 0;
	json_object(j, "summary");
	json_number(j, "live_arenas", live);
	if (allocated < STATS_NONE && active < STATS_NONE && active) {
		json_signed(j, "fragmentation_bytes", (int64_t)(active - allocated));
		json_real(j, "fragmentation_percent",
			  100 * (1 - (double)allocated / (double)active), 2);
	}
	if (dirty < STATS_NONE)
		json_number(j, "dirty_pages", dirty);
	if (dirty < STATS_NONE && page < STATS_NONE)
		json_number(j, "dirty_bytes", dirty * page);
	if (rate)
		json_number(j, "profiling_interval", UINT64_C(1) << (strtoul(rate, NULL, 10) & 63));
	if (prof)
		json_bool(j, "profiling", !strcmp(prof, "true"));
	json_end_object(j);
}

static void write_head(struct json *j, const struct stats *s, const struct stats_arena *whole,
		       const struct stats_origin *from)
{
	JSON_MEMBERS(j, from, file, offset);
	json_real_if(j, "time", from->time_ns != WHEN_NONE, (double)from->time_ns / 1e9, 6);
	json_number_if(j, "uptime_ns", stats_uptime(s) < STATS_NONE, stats_uptime(s));
	json_text(j, "version", s->version);
	json_text(j, "notation", s->json ? "json" : "text");
	json_bool(j, "mutex_counters_lost", s->mutexes_lost);
	json_number(j, "duplicate_keys", s->duplicates);
	json_bool(j, "merged_made", s->merged_made);
	write_corrections(j, s);
	json_text(j, "missing", stats_missing(s));
	write_summary(j, s, whole);
	json_object(j, "settings");
	for (size_t i = 0; i < s->setting_count; i++)
		json_text(j, s->words.data + s->settings[i].name,
			  s->words.data + s->settings[i].value);
	json_end_object(j);
	json_object(j, "shape");
	stats_write_fields(j, stats_shape_fields, s->shape);
	json_end_object(j);
	json_object(j, "stats");
	stats_write_fields(j, stats_total_fields, s->total);
	json_end_object(j);
}

void stats_write(struct json *j, const char *key, struct stats *s, const struct stats_origin *from)
{
	const struct stats_arena *whole = stats_merge(s);
	struct waterfall w = { 0 };
	char number[24];

	json_object(j, key);
	write_head(j, s, whole, from);
	write_mutexes(j, &s->mutexes);
	json_text(j, "whole", whole ? stats_arena_name(whole->id, number) : NULL);
	JSON_ROWS(j, "arenas", i, s->arena_count)
		write_arena(j, s, &s->arenas[i], &w);
	if (whole) {
		waterfall_make(&w, s, whole);
		stats_write_waterfall(j, "waterfall", &w);
		write_advice(j, s, whole, &w);
	}
	waterfall_release(&w);
	json_end_object(j);
}
