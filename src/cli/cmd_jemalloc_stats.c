/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc stats: a snapshot of jemalloc's statistics as tables, or all of a file's as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/table.h"
#include "jemalloc/snapshots.h"

#define COLUMNS_MAX 16
#define NAME "memoir jemalloc stats"

static bool as_json, with_settings;
static const char *arena_word, *sort_word, *color;

static const struct command_option options[] = {
	{ "arena", 'a', "ID", "bins and the like of this arena (merged)", COMMAND_TEXT,
	  &arena_word },
	{ "sort", 's', "FIELD", "rows of classes by this field, most first", COMMAND_TEXT,
	  &sort_word },
	{ "settings", 0, NULL, "show jemalloc's configuration too", COMMAND_FLAG, &with_settings },
	{ "json", 0, NULL, "print JSON, with all snapshots and fields", COMMAND_FLAG, &as_json },
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_TEXT, &color },
	{ 0 },
};

static void title(struct buf *out, const struct term *t, const char *text)
{
	buf_printf(out, "\n%s%s%s\n", term_style(t, STYLE_TITLE), text, term_style(t, STYLE_PLAIN));
}

static const char *number(struct human *h, uint64_t value)
{
	if (value == STATS_NONE)
		return "-";
	if (value < STATS_NONE)
		return human_count(h, value);
	snprintf(h->text, sizeof(h->text), "%" PRId64, (int64_t)value);
	return h->text;
}

static const char *arena_name(struct human *h, int64_t id)
{
	if (id == STATS_MERGED)
		return "merged";
	if (id == STATS_DESTROYED)
		return "destroyed";
	snprintf(h->text, sizeof(h->text), "%" PRId64, id);
	return h->text;
}

static void print_totals(struct buf *out, const struct term *term, const struct stats *s)
{
	uint64_t allocated = s->total[STATS_TOTAL_ALLOCATED], active = s->total[STATS_TOTAL_ACTIVE];
	struct human a, b;

	for (unsigned i = 0; i < STATS_TOTAL_ZERO_REALLOCS; i++)
		if (s->total[i] != STATS_NONE)
			buf_printf(out, "  %-16s %18s  %s%10s%s\n", stats_total_fields[i].name,
				   human_count(&a, s->total[i]), term_style(term, STYLE_NUMBER),
				   human_size(&b, s->total[i]), term_style(term, STYLE_PLAIN));
	if (allocated != STATS_NONE && active != STATS_NONE && active >= allocated && active)
		buf_printf(out, "  %-16s %18s  %s%10s%s\n", "fragmentation",
			   human_count(&a, active - allocated), term_style(term, STYLE_NUMBER),
			   human_share(&b, active - allocated, active),
			   term_style(term, STYLE_PLAIN));
	for (unsigned i = 0; i < STATS_SHAPE_COUNT; i++)
		if (s->shape[i] != STATS_NONE)
			buf_printf(out, "  %-16s %18" PRId64 "\n", stats_shape_fields[i].name,
				   (int64_t)s->shape[i]);
	if (s->mutexes_lost)
		buf_printf(out,
			   "  %sJSON of this version has mutex counters in the wrong place: "
			   "waits and spins are put right where they can be, the rest is lost%s\n",
			   term_style(term, STYLE_DIM), term_style(term, STYLE_PLAIN));
	if (s->json && *s->version && s->duplicates)
		buf_printf(out, "  %s%u keys came twice; the first of each counts%s\n",
			   term_style(term, STYLE_DIM), s->duplicates,
			   term_style(term, STYLE_PLAIN));
}

/* The columns of a table: a label, and those of `fields` that any row has a value of. */
struct shown {
	struct table_column columns[COLUMNS_MAX + 2];
	unsigned field[COLUMNS_MAX];
	unsigned count;
};

static bool any(const uint64_t *const *rows, size_t count, unsigned field)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i][field] != STATS_NONE)
			return true;
	return false;
}

static void print_rows(struct buf *out, const struct term *term, const char *label,
		       const char *(*name)(struct human *, size_t, const void *),
		       const void *context, const struct stats_field *fields,
		       const unsigned *wanted, const uint64_t *const *rows, size_t count)
{
	struct shown s = { .count = 0 };
	struct table t;
	struct human h;
	char padded[64];
	int width = 0;

	s.columns[0] = (struct table_column){ .title = label, .name = label, .left = name != NULL };
	for (unsigned i = 0; wanted[i] != UINT32_MAX && s.count < COLUMNS_MAX; i++)
		if (any(rows, count, wanted[i])) {
			s.columns[s.count + (name != NULL)] =
				(struct table_column){ .title = fields[wanted[i]].name,
						       .name = fields[wanted[i]].name };
			s.field[s.count++] = wanted[i];
		}
	/* A table's last column is on the left, as texts are; these are numbers. */
	for (size_t i = 0; s.count && i < count; i++) {
		int columns = (int)strlen(number(&h, rows[i][s.field[s.count - 1]]));

		width = columns > width ? columns : width;
	}
	if (s.count) {
		struct table_column *last = &s.columns[s.count - 1 + (name != NULL)];

		if ((int)strlen(last->title) > width)
			width = (int)strlen(last->title);
		snprintf(padded, sizeof(padded), "%*s", width, last->title);
		last->title = padded;
	}
	table_init(&t, s.columns);
	for (size_t i = 0; i < count; i++) {
		if (name)
			table_cell(&t, name(&h, i, context));
		for (unsigned f = 0; f < s.count; f++)
			table_cellf(&t, "%*s", f + 1 == s.count ? width : 0,
				    number(&h, rows[i][s.field[f]]));
	}
	table_print(&t, term, true, out);
	table_release(&t);
}

static const char *name_of_arena(struct human *h, size_t i, const void *context)
{
	return arena_name(h, ((const struct stats *)context)->arenas[i].id);
}

static const char *name_of_mutex(struct human *h, size_t i, const void *context)
{
	return ((const struct stats_mutexes *)context)->list[i].name;
}

static void print_arenas(struct buf *out, const struct term *term, const struct stats *s)
{
	static const unsigned wanted[] = { STATS_ARENA_TOTAL_ALLOCATED, STATS_ARENA_SMALL_ALLOCATED,
					   STATS_ARENA_LARGE_ALLOCATED, STATS_ARENA_ACTIVE,
					   STATS_ARENA_MAPPED,		STATS_ARENA_RETAINED,
					   STATS_ARENA_RESIDENT,	STATS_ARENA_PDIRTY,
					   STATS_ARENA_PMUZZY,		STATS_ARENA_TCACHE_BYTES,
					   STATS_ARENA_NTHREADS,	UINT32_MAX };
	auto_free const uint64_t **rows = xcalloc(s->arena_count + 1, sizeof(*rows));

	if (!s->arena_count)
		return;
	for (size_t i = 0; i < s->arena_count; i++)
		rows[i] = s->arenas[i].value;
	title(out, term, "ARENAS");
	print_rows(out, term, "arena", name_of_arena, s, stats_arena_fields, wanted, rows,
		   s->arena_count);
}

static void print_mutexes(struct buf *out, const struct term *term, const char *text,
			  const struct stats_mutexes *m)
{
	static const unsigned wanted[] = { 0, 1, 2, 3, 4, 5, 6, UINT32_MAX };
	auto_free const uint64_t **rows = xcalloc(m->count + 1, sizeof(*rows));

	if (!m->count)
		return;
	for (size_t i = 0; i < m->count; i++)
		rows[i] = m->list[i].value;
	title(out, term, text);
	print_rows(out, term, "mutex", name_of_mutex, m, stats_mutex_fields, wanted, rows,
		   m->count);
}

static int by_field(const void *x, const void *y, void *context)
{
	uint64_t a = (*(const uint64_t *const *)x)[*(const int *)context];
	uint64_t b = (*(const uint64_t *const *)y)[*(const int *)context];

	return (a < b) - (a > b);
}

/* Size classes that are or were in use. */
static void print_classes(struct buf *out, const struct term *term, const char *text,
			  const struct stats_rows *r, const struct stats_field *fields,
			  const unsigned *wanted, unsigned used, unsigned also)
{
	auto_free const uint64_t **rows = xcalloc(r->count + 1, sizeof(*rows));
	int field = sort_word ? stats_find(fields, false, sort_word, strlen(sort_word), -1) : -1;
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		const uint64_t *row = stats_row(r, i);

		if ((row[used] && row[used] != STATS_NONE) ||
		    (row[also] && row[also] != STATS_NONE))
			rows[count++] = row;
	}
	if (!count)
		return;
	if (field >= 0)
		qsort_r(rows, count, sizeof(*rows), by_field, &field);
	title(out, term, text);
	print_rows(out, term, NULL, NULL, NULL, fields, wanted, rows, count);
}

static void print_arena(struct buf *out, const struct term *term, const struct stats_arena *a)
{
	static const unsigned bins[] = {
		STATS_BIN_SIZE,	     STATS_BIN_ALLOCATED,     STATS_BIN_CURREGS,  STATS_BIN_NREGS,
		STATS_BIN_CURSLABS,  STATS_BIN_NONFULL_SLABS, STATS_BIN_NMALLOC,  STATS_BIN_NDALLOC,
		STATS_BIN_NREQUESTS, STATS_BIN_NFILLS,	      STATS_BIN_NFLUSHES, UINT32_MAX
	};
	static const unsigned large[] = { STATS_LARGE_SIZE,    STATS_LARGE_ALLOCATED,
					  STATS_LARGE_COUNT,   STATS_LARGE_NMALLOC,
					  STATS_LARGE_NDALLOC, STATS_LARGE_NREQUESTS,
					  UINT32_MAX };
	static const unsigned extents[] = { STATS_EXTENT_SIZE,	   STATS_EXTENT_NDIRTY,
					    STATS_EXTENT_DIRTY,	   STATS_EXTENT_NMUZZY,
					    STATS_EXTENT_MUZZY,	   STATS_EXTENT_NRETAINED,
					    STATS_EXTENT_RETAINED, UINT32_MAX };

	print_classes(out, term, "BINS", &a->bins, stats_bin_fields, bins, STATS_BIN_CURREGS,
		      STATS_BIN_NMALLOC);
	print_classes(out, term, "LARGE CLASSES", &a->large, stats_large_fields, large,
		      STATS_LARGE_COUNT, STATS_LARGE_NMALLOC);
	print_classes(out, term, "EXTENTS", &a->extents, stats_extent_fields, extents,
		      STATS_EXTENT_NRETAINED, STATS_EXTENT_NDIRTY);
	print_mutexes(out, term, "MUTEXES", &a->mutexes);
}

static const struct stats_arena *chosen(const struct stats *s)
{
	if (!arena_word)
		return stats_whole(s);
	if (!strcmp(arena_word, "merged"))
		return stats_arena(s, STATS_MERGED);
	if (!strcmp(arena_word, "destroyed"))
		return stats_arena(s, STATS_DESTROYED);
	if (!*arena_word || arena_word[strspn(arena_word, "0123456789")] || strlen(arena_word) > 9)
		return NULL;
	return stats_arena(s, atoll(arena_word));
}

static int print_text(struct buf *out, const struct term *term, const char *path,
		      const struct stats *s, uint64_t count)
{
	const struct stats_arena *a = chosen(s);

	if (arena_word && !a) {
		fprintf(stderr, NAME ": %s: there is no arena '%s' in it\n", path, arena_word);
		return 1;
	}
	buf_printf(out, "%s%s%s", term_style(term, STYLE_STRONG), path,
		   term_style(term, STYLE_PLAIN));
	buf_text(out, ": jemalloc ");
	buf_printable(out, *s->version ? s->version : "(version not said)",
		      strlen(*s->version ? s->version : "(version not said)"));
	if (count > 1)
		buf_printf(out, ", the last of %" PRIu64 " snapshots", count);
	buf_char(out, '\n');
	print_totals(out, term, s);
	print_arenas(out, term, s);
	if (a)
		print_arena(out, term, a);
	print_mutexes(out, term, "GLOBAL MUTEXES", &s->mutexes);
	if (with_settings)
		title(out, term, "SETTINGS");
	for (size_t i = 0; with_settings && i < s->setting_count; i++) {
		buf_text(out, "  ");
		buf_printable(out, s->words.data + s->settings[i].name,
			      strlen(s->words.data + s->settings[i].name));
		buf_text(out, ": ");
		buf_printable(out, s->words.data + s->settings[i].value,
			      strlen(s->words.data + s->settings[i].value));
		buf_char(out, '\n');
	}
	return 0;
}

static void json_fields(struct json *j, const struct stats_field *fields, const uint64_t *values)
{
	char text[24];

	for (unsigned i = 0; *fields[i].name; i++) {
		if (values[i] < STATS_NONE) {
			json_number(j, fields[i].name, values[i]);
		} else if (values[i] > STATS_NONE) {
			snprintf(text, sizeof(text), "%" PRId64, (int64_t)values[i]);
			json_written(j, fields[i].name, text, strlen(text));
		}
	}
}

static void json_rows(struct json *j, const char *key, const struct stats_field *fields,
		      const struct stats_rows *r)
{
	json_array(j, key);
	for (size_t i = 0; i < r->count; i++) {
		json_object(j, NULL);
		json_fields(j, fields, stats_row(r, i));
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_mutexes(struct json *j, const struct stats_mutexes *m)
{
	json_array(j, "mutexes");
	for (size_t i = 0; i < m->count; i++) {
		json_object(j, NULL);
		json_text(j, "name", m->list[i].name);
		json_fields(j, stats_mutex_fields, m->list[i].value);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_snapshot(struct json *j, const char *path, const struct snapshots *r)
{
	const struct stats *s = &r->stats;
	struct human h;

	json_object(j, NULL);
	json_text(j, "file", path);
	json_number(j, "offset", r->document);
	json_text(j, "version", s->version);
	json_text(j, "notation", s->json ? "json" : "text");
	json_bool(j, "mutex_counters_lost", s->mutexes_lost);
	json_number(j, "duplicate_keys", s->duplicates);
	json_object(j, "settings");
	for (size_t i = 0; i < s->setting_count; i++)
		json_text(j, s->words.data + s->settings[i].name,
			  s->words.data + s->settings[i].value);
	json_end_object(j);
	json_object(j, "shape");
	json_fields(j, stats_shape_fields, s->shape);
	json_end_object(j);
	json_object(j, "stats");
	json_fields(j, stats_total_fields, s->total);
	json_end_object(j);
	json_mutexes(j, &s->mutexes);
	json_array(j, "arenas");
	for (size_t i = 0; i < s->arena_count; i++) {
		const struct stats_arena *a = &s->arenas[i];

		json_object(j, NULL);
		json_text(j, "arena", arena_name(&h, a->id));
		json_fields(j, stats_arena_fields, a->value);
		json_rows(j, "bins", stats_bin_fields, &a->bins);
		json_rows(j, "large", stats_large_fields, &a->large);
		json_rows(j, "extents", stats_extent_fields, &a->extents);
		json_mutexes(j, &a->mutexes);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void keep(struct stats *last, struct snapshots *r)
{
	struct stats other = *last;

	*last = r->stats;
	r->stats = other;
}

static int one_file(const char *path, struct json *j, struct buf *out, const struct term *term)
{
	struct err err = { .text = "" };
	struct snapshots r;
	struct stats last;
	int status = 0, n = snapshots_open(&r, path, &err);

	stats_init(&last);
	if (!n)
		while ((n = snapshots_next(&r, &err)) == 1 || n == -EBADMSG) {
			if (n == 1 && as_json) {
				json_snapshot(j, path, &r);
				if (buf_flush(out, 1)) /* a series may be long */
					status = 1;
			} else if (n == 1) {
				keep(&last, &r);
			} else {
				fprintf(stderr, NAME ": %s, offset %" PRIu64 ": %s\n", path,
					err.offset, err.text);
				status = 1;
			}
		}
	if (n)
		fprintf(stderr, NAME ": %s: %s\n", path, err.text);
	else if (!r.documents && !status)
		fprintf(stderr, NAME ": %s holds no jemalloc statistics: %s\n", path,
			snapshots_guess(&r));
	if (n || !r.documents)
		status = 1;
	else if (!as_json && print_text(out, term, path, &last, r.documents))
		status = 1;
	stats_release(&last);
	snapshots_close(&r);
	return status;
}

static bool has_field(const char *word)
{
	const struct stats_field *const tables[] = { stats_bin_fields, stats_large_fields,
						     stats_extent_fields };

	for (unsigned i = 0; i < 3; i++)
		if (stats_find(tables[i], false, word, strlen(word), -1) >= 0)
			return true;
	return false;
}

static int run(int argc, char **argv)
{
	struct buf out = { 0 };
	struct term term;
	struct json j;
	int status = 0;

	if (!argc || !term_init(&term, 1, color) || (sort_word && !has_field(sort_word))) {
		if (!argc)
			fprintf(stderr, NAME ": of which file? - is standard input\n");
		else if (sort_word && !has_field(sort_word))
			fprintf(stderr,
				NAME ": there is no field '%s' to sort by; allocated, nmalloc, "
				     "size …\n",
				sort_word);
		else
			fprintf(stderr, NAME ": --color is auto, always or never\n");
		return 2;
	}
	json_init(&j, &out);
	if (as_json) {
		json_object(&j, NULL);
		json_array(&j, "snapshots");
	}
	for (int i = 0; i < argc; i++) {
		if (i && out.size)
			buf_char(&out, '\n');
		status |= one_file(argv[i], &j, &out, &term);
	}
	if (as_json) {
		json_end_array(&j);
		json_end_object(&j);
	}
	if (buf_flush(&out, 1))
		status = 1;
	buf_release(&out);
	return status;
}

const struct command command_jemalloc_stats = {
	.name = "jemalloc stats",
	.args = "FILE…",
	.help = "a snapshot as tables, or all as JSON",
	.examples = "  memoir jemalloc stats stats.json\n"
		    "  memoir jemalloc stats --arena 0 --sort allocated server.log\n"
		    "  memoir jemalloc stats --json series.txt\n",
	.options = options,
	.run = run,
};
