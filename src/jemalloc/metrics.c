/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Metrics.  See metrics.h. */
#include "jemalloc/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "jemalloc/fields.h"
#include "jemalloc/merge.h"
#include "jemalloc/waterfall.h"

#define NAME_MAX_SIZE 96

/* What a field is called there, and what its number is divided by. */
struct metric {
	char name[NAME_MAX_SIZE];
	const char *type;
	double divisor; /* 1: an integer */
};

static bool ends_with(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n >= m && !strcmp(name + n - m, with);
}

/* What is behind small_, dirty_ and so on. */
static const char *last_word(const char *name)
{
	const char *line = strrchr(name, '_');

	return line ? line + 1 : name;
}

/* Numbers that never fall: how often something was done. */
static bool is_counter(const char *name)
{
	static const char *const words[] = { "nmalloc",	   "ndalloc", "nrequests", "nfills",
					     "nflushes",   "npurge",  "nmadvise",  "purged",
					     "nreslabs",   "nslabs",  "npurges",   "nhugifies",
					     "reallocs",   "runs",    "ops",	   "wait",
					     "acq",	   "switch",  "passes",	   "failures",
					     "ndehugifies" };
	const char *word = last_word(name);

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i]))
			return strcmp(name, "nonfull_slabs") != 0;
	return !strcmp(name, "total_wait_time");
}

/* Prometheus takes "sec" for a unit. */
static const char *spelled_out(const char *field)
{
	return strcmp(field, "sec_bytes") ? field : "small_extent_cache_bytes";
}

static struct metric metric_of(const char *group, const char *name)
{
	struct metric m = { .type = "gauge", .divisor = 1 };
	const char *field = spelled_out(name);
	bool counter = is_counter(field);
	const char *unit = "";
	size_t size = strlen(field);

	if (ends_with(field, "_ns") || ends_with(field, "_ms")) {
		unit = "_seconds";
		m.divisor = ends_with(field, "_ns") ? 1e9 : 1e3;
		size -= 3;
	} else if (ends_with(field, "_wait_time") || !strcmp(field, "run_interval")) {
		unit = "_seconds";
		m.divisor = 1e9;
		size -= ends_with(field, "_time") ? 5 : 0;
	} else if (fields_bytes(field) && !ends_with(field, "_bytes")) {
		unit = "_bytes";
	}
	if (counter)
		m.type = "counter";
	snprintf(m.name, sizeof(m.name), "jemalloc_%s%.*s%s%s", group, (int)size, field, unit,
		 counter ? "_total" : "");
	return m;
}

static void head(struct buf *out, const struct metric *m, const char *of, const char *field)
{
	buf_printf(out, "# HELP %s %s of %s\n# TYPE %s %s\n", m->name, field, of, m->name, m->type);
}

static void value(struct buf *out, const struct metric *m, uint64_t number)
{
	if (m->divisor > 1)
		buf_printf(out, " %.9g\n", (double)(int64_t)number / m->divisor);
	else
		buf_printf(out, " %" PRId64 "\n", (int64_t)number);
}

static void label(struct buf *out, const char *name, const char *text)
{
	buf_printf(out, "%s=\"", name);
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_char(out, '\\');
		if (*text == '\n')
			buf_text(out, "\\n");
		else
			buf_char(out, *text);
	}
	buf_char(out, '"');
}

static void plain(struct buf *out, const char *group, const char *of,
		  const struct stats_field *fields, const uint64_t *values)
{
	for (unsigned i = 0; *fields[i].name; i++) {
		bool background =
			fields == stats_total_fields && i >= STATS_TOTAL_BACKGROUND_THREADS;
		struct metric m = metric_of(background ? "background_" : group, fields[i].name);

		if (values[i] == STATS_NONE)
			continue;
		head(out, &m, of, fields[i].name);
		buf_text(out, m.name);
		value(out, &m, values[i]);
	}
}

static void arenas(struct buf *out, const struct stats *s)
{
	for (unsigned i = 0; i < STATS_ARENA_COUNT; i++) {
		struct metric m = metric_of("arena_", stats_arena_fields[i].name);
		bool begun = false;
		char number[24];

		for (size_t k = 0; k < s->arena_count; k++) {
			const struct stats_arena *a = &s->arenas[k];

			/* The sum is what a query makes of them. */
			if (a->value[i] == STATS_NONE || a->id == STATS_MERGED)
				continue;
			if (!begun)
				head(out, &m, "an arena", stats_arena_fields[i].name);
			begun = true;
			buf_printf(out, "%s{", m.name);
			label(out, "arena", stats_arena_name(a->id, number));
			buf_char(out, '}');
			value(out, &m, a->value[i]);
		}
	}
}

/* Rows by their size; the fields that name a row are no metrics, nor are those of an unused row. */
static void classes(struct buf *out, const char *group, const char *of,
		    const struct stats_field *fields, const struct stats_rows *r, unsigned size)
{
	for (unsigned i = 0; *fields[i].name; i++) {
		struct metric m = metric_of(group, fields[i].name);
		bool begun = false;

		if (i == size || !strcmp(fields[i].name, "ind"))
			continue;
		for (size_t k = 0; k < r->count; k++) {
			const uint64_t *row = stats_row(r, k);

			if (row[i] == STATS_NONE || row[size] == STATS_NONE)
				continue;
			if (!begun)
				head(out, &m, of, fields[i].name);
			begun = true;
			buf_printf(out, "%s{size=\"%" PRIu64 "\"}", m.name, row[size]);
			value(out, &m, row[i]);
		}
	}
}

static void mutexes(struct buf *out, const char *group, const char *of,
		    const struct stats_mutexes *list)
{
	for (unsigned i = 0; i < STATS_MUTEX_COUNT; i++) {
		struct metric m = metric_of(group, stats_mutex_fields[i].name);
		bool begun = false;

		for (size_t k = 0; k < list->count; k++) {
			if (list->list[k].value[i] == STATS_NONE)
				continue;
			if (!begun)
				head(out, &m, of, stats_mutex_fields[i].name);
			begun = true;
			buf_printf(out, "%s{", m.name);
			label(out, "mutex", list->list[k].name);
			buf_char(out, '}');
			value(out, &m, list->list[k].value[i]);
		}
	}
}

static void overhead(struct buf *out, const struct stats *s, const struct stats_arena *whole)
{
	auto_release(waterfall_release) struct waterfall w = { 0 };

	waterfall_make(&w, s, whole);
	buf_text(out, "# HELP jemalloc_overhead_bytes bytes between resident and what the program "
		      "has, by cause\n# TYPE jemalloc_overhead_bytes gauge\n");
	for (unsigned i = 0; i < WATERFALL_STEP_COUNT; i++)
		buf_printf(out, "jemalloc_overhead_bytes{step=\"%s\"} %" PRId64 "\n",
			   waterfall_rows[i].name, w.step[i]);
}

void metrics_write(struct buf *out, struct stats *s)
{
	const struct stats_arena *whole = stats_merge(s);

	buf_text(out,
		 "# HELP jemalloc_info the version\n# TYPE jemalloc_info gauge\njemalloc_info{");
	label(out, "version", s->version);
	buf_text(out, "} 1\n");
	plain(out, "", "the process", stats_total_fields, s->total);
	plain(out, "config_", "the configuration", stats_shape_fields, s->shape);
	arenas(out, s);
	mutexes(out, "global_mutex_", "a mutex of the process", &s->mutexes);
	if (!whole)
		return;
	overhead(out, s, whole);
	classes(out, "bin_", "a bin of all arenas", stats_bin_fields, &whole->bins, STATS_BIN_SIZE);
	classes(out, "large_", "a large class of all arenas", stats_large_fields, &whole->large,
		STATS_LARGE_SIZE);
	classes(out, "extent_", "extents of a size", stats_extent_fields, &whole->extents,
		STATS_EXTENT_SIZE);
	mutexes(out, "mutex_", "a mutex of all arenas", &whole->mutexes);
	plain(out, "hpa_", "the huge page allocator", stats_hpa_fields, whole->hpa);
}
