/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of a snapshot.  See stats_tables.h.
 *
 * A table is a row of `tables`: its fields, where its rows are, and which of them the terminal
 * shows.  Columns that no row has a value for are left out. */
#include "cli/jemalloc/stats_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "cli/table.h"
#include "jemalloc/fields.h"
#include "jemalloc/merge.h"

#define COLUMNS_MAX 16
#define COLUMN_GAP 2 /* of cli/table.c */
#define UTIL_WIDTH 7
#define END UINT32_MAX

void stats_print_title(struct buf *out, const struct term *t, const char *text)
{
	buf_printf(out, "\n%s%s%s\n", term_style(t, STYLE_TITLE), text, term_style(t, STYLE_PLAIN));
}

static const char *number(struct human *h, uint64_t value, bool human)
{
	if (value == STATS_NONE)
		return "-";
	if (value < STATS_NONE)
		return human ? human_size(h, value) : human_count(h, value);
	snprintf(h->text, sizeof(h->text), "%" PRId64, (int64_t)value);
	return h->text;
}

static int by_field(const void *x, const void *y, void *context)
{
	uint64_t a = (*(const uint64_t *const *)x)[*(const int *)context];
	uint64_t b = (*(const uint64_t *const *)y)[*(const int *)context];

	a = a < STATS_NONE ? a : 0;
	b = b < STATS_NONE ? b : 0;
	return (a < b) - (a > b);
}

/* Most first.  Labels go along with their rows. */
static void sort_rows(struct stats_tables_rows *r, const struct stats_field *fields,
		      const char *word)
{
	int field = word ? stats_find(fields, false, word, strlen(word), -1) : -1;
	auto_free const uint64_t **before = NULL;
	auto_free const char **labels = NULL;

	if (field < 0 || r->count < 2)
		return;
	before = xcalloc(r->count, sizeof(*before));
	labels = xcalloc(r->count, sizeof(*labels));
	memcpy(before, r->values, r->count * sizeof(*before));
	if (r->labels)
		memcpy(labels, r->labels, r->count * sizeof(*labels));
	qsort_r(r->values, r->count, sizeof(*r->values), by_field, &field);
	for (size_t i = 0; r->labels && i < r->count; i++)
		for (size_t k = 0; k < r->count; k++)
			if (before[k] == r->values[i])
				r->labels[i] = labels[k];
}

static bool any(const struct stats_tables_rows *r, unsigned field)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->values[i][field] != STATS_NONE)
			return true;
	return false;
}

static const char *shown_cell(struct human *h, const struct stats_tables *t,
			      const struct stats_field *fields, const uint64_t *row, unsigned field)
{
	return number(h, row[field], t->human && fields_bytes(fields[field].name));
}

/* As text of jemalloc has it. */
static const char *util(struct human *h, const uint64_t *bin)
{
	uint32_t value = stats_bin_util(bin);

	if (value >= STATS_NO_UTIL)
		return value == STATS_RACE ? "race" : "-";
	if (value == 1000)
		return "1";
	snprintf(h->text, sizeof(h->text), "0.%03u", value);
	return h->text;
}

/* Columns that a table is made of: fields, and what they are as wide as. */
struct chosen {
	unsigned shown[COLUMNS_MAX], count;
	struct buf left_out; /* names of those that there is no room for */
};

static size_t column_width(const struct stats_tables *t, const struct stats_field *fields,
			   const struct stats_tables_rows *r, unsigned field)
{
	size_t width = strlen(fields[field].name);
	struct human h;

	for (size_t i = 0; i < r->count; i++) {
		size_t n = strlen(shown_cell(&h, t, fields, r->values[i], field));

		width = n > width ? n : width;
	}
	return width;
}

/* Those that some row has a value for, the first ones if the terminal is too narrow for all: rows
 * that wrap cannot be read. */
static void choose_columns(struct chosen *c, const struct stats_tables *t, const char *label,
			   const struct stats_field *fields, const unsigned *wanted,
			   const struct stats_tables_rows *r)
{
	size_t used = fields == stats_bin_fields ? UTIL_WIDTH : 0;

	*c = (struct chosen){ .count = 0 };
	if (r->labels) {
		size_t width = strlen(label);

		for (size_t i = 0; i < r->count; i++)
			width = strlen(r->labels[i]) > width ? strlen(r->labels[i]) : width;
		used += width + COLUMN_GAP;
	}
	for (unsigned i = 0; wanted[i] != END && c->count < COLUMNS_MAX; i++) {
		if (!any(r, wanted[i]) && !(t->lost && fields == stats_mutex_fields))
			continue;
		used += column_width(t, fields, r, wanted[i]);
		if (t->columns && used > t->columns && c->count)
			buf_printf(&c->left_out, " %s", fields[wanted[i]].name);
		else
			c->shown[c->count++] = wanted[i];
		used += COLUMN_GAP;
	}
}

static void print_left_out(struct buf *out, const struct stats_tables *t, struct chosen *c)
{
	if (c->left_out.size) {
		auto_free char *text = xasprintf("(no room for%.*s: --csv and --json have them)",
						 (int)c->left_out.size, c->left_out.data);

		stats_print_sentence(out, t, 0, STYLE_DIM, text);
	}
	buf_release(&c->left_out);
}

static void print_rows(struct buf *out, const struct stats_tables *t, const char *label,
		       const struct stats_field *fields, const unsigned *wanted,
		       const struct stats_tables_rows *r)
{
	struct table_column columns[COLUMNS_MAX + 3] = { 0 };
	unsigned first = r->labels != NULL, last;
	bool bins = fields == stats_bin_fields;
	struct chosen c;
	struct table table;
	struct human h;
	char padded[64];
	int width;

	columns[0] = (struct table_column){ .title = label, .name = label, .left = true };
	choose_columns(&c, t, label, fields, wanted, r);
	for (unsigned i = 0; i < c.count; i++) {
		const char *name = fields[c.shown[i]].name;

		columns[i + first] = (struct table_column){ .title = name, .name = name };
		if (bins && !i) /* behind the size */
			columns[++first] = (struct table_column){ .title = "util" };
	}
	if (!c.count)
		return;
	/* A table's last column is on the left, as texts are; these are numbers. */
	last = c.count - 1;
	width = (int)column_width(t, fields, r, c.shown[last]);
	snprintf(padded, sizeof(padded), "%*s", width, columns[last + first].title);
	columns[last + first].title = padded;
	table_init(&table, columns);
	for (size_t i = 0; i < r->count; i++) {
		if (r->labels)
			table_cell(&table, r->labels[i]);
		for (unsigned f = 0; f < c.count; f++) {
			table_cellf(&table, "%*s", f == last ? width : 0,
				    shown_cell(&h, t, fields, r->values[i], c.shown[f]));
			if (bins && !f)
				table_cell(&table, util(&h, r->values[i]));
		}
	}
	table_print(&table, t->term, true, out);
	table_release(&table);
	print_left_out(out, t, &c);
	if (t->lost && fields == stats_mutex_fields)
		stats_print_sentence(
			out, t, 0, STYLE_DIM,
			"(- is not told: JSON of this version has mutex counters in the "
			"wrong place)");
}

void stats_tables_rows_release(struct stats_tables_rows *r)
{
	free(r->values);
	free(r->labels);
}

/* What a table's rows are. */
static void class_rows(struct stats_tables_rows *r, const struct stats_rows *from, unsigned used,
		       unsigned also)
{
	r->values = xcalloc(from->count + 1, sizeof(*r->values));
	for (size_t i = 0; i < from->count; i++) {
		const uint64_t *row = stats_row(from, i);

		if ((row[used] && row[used] != STATS_NONE) ||
		    (row[also] && row[also] != STATS_NONE))
			r->values[r->count++] = row;
	}
}

static void bins_rows(struct stats_tables_rows *r, const struct stats_arena *a)
{
	class_rows(r, &a->bins, STATS_BIN_CURREGS, STATS_BIN_NMALLOC);
}

static void large_rows(struct stats_tables_rows *r, const struct stats_arena *a)
{
	class_rows(r, &a->large, STATS_LARGE_COUNT, STATS_LARGE_NMALLOC);
}

static void extents_rows(struct stats_tables_rows *r, const struct stats_arena *a)
{
	class_rows(r, &a->extents, STATS_EXTENT_NRETAINED, STATS_EXTENT_NDIRTY);
}

static void slabs_rows(struct stats_tables_rows *r, const struct stats_arena *a)
{
	class_rows(r, &a->slabs, STATS_SLAB_NPAGESLABS_HUGE, STATS_SLAB_NPAGESLABS_NONHUGE);
}

static void mutexes_of(struct stats_tables_rows *r, const struct stats_mutexes *m)
{
	r->values = xcalloc(m->count + 1, sizeof(*r->values));
	r->labels = xcalloc(m->count + 1, sizeof(*r->labels));
	r->count = m->count;
	for (size_t i = 0; i < m->count; i++) {
		r->values[i] = m->list[i].value;
		r->labels[i] = m->list[i].name;
	}
}

static void mutexes_rows(struct stats_tables_rows *r, const struct stats_arena *a)
{
	mutexes_of(r, &a->mutexes);
}

static void hpa_rows(struct stats_tables_rows *r, const struct stats_arena *a)
{
	r->values = xcalloc(1, sizeof(*r->values));
	r->values[0] = a->hpa;
	for (unsigned i = 0; i < STATS_HPA_COUNT; i++)
		r->count |= a->hpa[i] && a->hpa[i] != STATS_NONE;
}

static const unsigned bins_shown[] = { STATS_BIN_SIZE,
				       STATS_BIN_ALLOCATED,
				       STATS_BIN_CURREGS,
				       STATS_BIN_NREGS,
				       STATS_BIN_CURSLABS,
				       STATS_BIN_NONFULL_SLABS,
				       STATS_BIN_NMALLOC,
				       STATS_BIN_NDALLOC,
				       STATS_BIN_NREQUESTS,
				       STATS_BIN_NFILLS,
				       STATS_BIN_NFLUSHES,
				       STATS_BIN_WAIT,
				       END };
static const unsigned large_shown[] = { STATS_LARGE_SIZE,	    STATS_LARGE_ALLOCATED,
					STATS_LARGE_COUNT,	    STATS_LARGE_NMALLOC,
					STATS_LARGE_NDALLOC,	    STATS_LARGE_NREQUESTS,
					STATS_LARGE_LIVE_REQUESTED, END };
static const unsigned extents_shown[] = { STATS_EXTENT_SIZE,	 STATS_EXTENT_NDIRTY,
					  STATS_EXTENT_DIRTY,	 STATS_EXTENT_NMUZZY,
					  STATS_EXTENT_MUZZY,	 STATS_EXTENT_NRETAINED,
					  STATS_EXTENT_RETAINED, END };
static const unsigned mutexes_shown[] = { 0, 1, 2, 3, 4, 5, 6, END };
static const unsigned hpa_shown[] = { STATS_HPA_NPURGE_PASSES,
				      STATS_HPA_NPURGES,
				      STATS_HPA_NHUGIFIES,
				      STATS_HPA_NDEHUGIFIES,
				      STATS_HPA_FULL_NPAGESLABS_HUGE,
				      STATS_HPA_FULL_NPAGESLABS_NONHUGE,
				      STATS_HPA_EMPTY_NPAGESLABS_HUGE,
				      STATS_HPA_EMPTY_NPAGESLABS_NONHUGE,
				      END };
static const unsigned slabs_shown[] = { 1, 2, 3, 4, 5, 6, 7, 8, END };

/* The tables that an arena has. */
static const struct {
	const char *name, *title;
	const struct stats_field *fields;
	void (*rows)(struct stats_tables_rows *, const struct stats_arena *);
	const unsigned *shown;
} tables[] = {
	{ "bins", "BINS", stats_bin_fields, bins_rows, bins_shown },
	{ "large", "LARGE CLASSES", stats_large_fields, large_rows, large_shown },
	{ "extents", "EXTENTS", stats_extent_fields, extents_rows, extents_shown },
	{ "mutexes", "MUTEXES", stats_mutex_fields, mutexes_rows, mutexes_shown },
	{ "hpa", "HUGE PAGES (HPA)", stats_hpa_fields, hpa_rows, hpa_shown },
	{ "slabs", "HUGE PAGES, PARTLY USED SLABS", stats_slab_fields, slabs_rows, slabs_shown },
};
#define TABLE_COUNT (sizeof(tables) / sizeof(*tables))

/* Those that a snapshot has, in the order of printing. */
static const char *const others[] = { "summary", "waterfall",	   "advice",  "growth",
				      "arenas",	 "global-mutexes", "settings" };

const char stats_tables_names[] =
	"summary, waterfall, advice, growth, arenas, bins, large, extents, "
	"mutexes, hpa, slabs, global-mutexes, settings";

bool stats_tables_has(const char *name)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++)
		if (!strcmp(tables[i].name, name))
			return true;
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i], name))
			return true;
	return false;
}

bool stats_tables_field(const char *name)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++)
		if (stats_find(tables[i].fields, false, name, strlen(name), -1) >= 0)
			return true;
	return stats_find(stats_arena_fields, false, name, strlen(name), -1) >= 0;
}

const struct stats_arena *stats_tables_arena(struct stats *s, const char *word)
{
	const struct stats_arena *whole = stats_merge(s);

	if (!word)
		return whole;
	if (!strcmp(word, "merged"))
		return stats_arena(s, STATS_MERGED);
	if (!strcmp(word, "destroyed"))
		return stats_arena(s, STATS_DESTROYED);
	if (!*word || word[strspn(word, "0123456789")] || strlen(word) > 9)
		return NULL;
	return stats_arena(s, atoll(word));
}

static bool wanted(const struct stats_tables *t, const char *name)
{
	return !t->only || !strcmp(t->only, name);
}

static void arenas_rows(struct stats_tables_rows *r, const struct stats *s, char (*names)[24])
{
	r->values = xcalloc(s->arena_count + 1, sizeof(*r->values));
	r->labels = xcalloc(s->arena_count + 1, sizeof(*r->labels));
	r->count = s->arena_count;
	for (size_t i = 0; i < s->arena_count; i++) {
		r->values[i] = s->arenas[i].value;
		r->labels[i] = stats_arena_name(s->arenas[i].id, names[i]);
	}
}

static void print_arenas(struct buf *out, const struct stats_tables *t, const struct stats *s)
{
	static const unsigned shown[] = { STATS_ARENA_TOTAL_ALLOCATED, STATS_ARENA_ACTIVE,
					  STATS_ARENA_RESIDENT,	       STATS_ARENA_MAPPED,
					  STATS_ARENA_SMALL_ALLOCATED, STATS_ARENA_LARGE_ALLOCATED,
					  STATS_ARENA_RETAINED,	       STATS_ARENA_PDIRTY,
					  STATS_ARENA_PMUZZY,	       STATS_ARENA_TCACHE_BYTES,
					  STATS_ARENA_NTHREADS,	       END };
	auto_free char(*names)[24] = xcalloc(s->arena_count + 1, sizeof(*names));
	struct stats_tables_rows r = { 0 };

	if (!s->arena_count || !wanted(t, "arenas"))
		return;
	arenas_rows(&r, s, names);
	sort_rows(&r, stats_arena_fields, t->sort);
	stats_print_title(out, t->term, "ARENAS");
	print_rows(out, t, "arena", stats_arena_fields, shown, &r);
	stats_tables_rows_release(&r);
}

static void print_global_mutexes(struct buf *out, const struct stats_tables *t,
				 const struct stats *s)
{
	struct stats_tables_rows r = { 0 };

	if (!s->mutexes.count || !wanted(t, "global-mutexes"))
		return;
	mutexes_of(&r, &s->mutexes);
	sort_rows(&r, stats_mutex_fields, t->sort);
	stats_print_title(out, t->term, "GLOBAL MUTEXES");
	print_rows(out, t, "mutex", stats_mutex_fields, mutexes_shown, &r);
	stats_tables_rows_release(&r);
}

const struct stats_field *stats_tables_rows(const char *name, const struct stats_arena *a,
					    const char *sort, struct stats_tables_rows *ret_rows)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		if (strcmp(tables[i].name, name) != 0)
			continue;
		*ret_rows = (struct stats_tables_rows){ 0 };
		tables[i].rows(ret_rows, a);
		sort_rows(ret_rows, tables[i].fields, sort);
		return tables[i].fields;
	}
	return NULL;
}

static void print_classes(struct buf *out, const struct stats_tables *t,
			  const struct stats_arena *a)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		struct stats_tables_rows r;

		if (!wanted(t, tables[i].name))
			continue;
		stats_tables_rows(tables[i].name, a, t->sort, &r);
		if (r.count) {
			stats_print_title(out, t->term, tables[i].title);
			print_rows(out, t, "mutex", tables[i].fields, tables[i].shown, &r);
		}
		stats_tables_rows_release(&r);
	}
}

static void print_settings(struct buf *out, const struct stats_tables *t, const struct stats *s)
{
	if (!s->setting_count || (t->only ? strcmp(t->only, "settings") != 0 : !t->settings))
		return;
	stats_print_title(out, t->term, "SETTINGS");
	for (size_t i = 0; i < s->setting_count; i++) {
		const char *name = s->words.data + s->settings[i].name;
		const char *value = s->words.data + s->settings[i].value;

		buf_text(out, "  ");
		buf_printable(out, name, strlen(name));
		buf_text(out, ": ");
		buf_printable(out, value, strlen(value));
		buf_char(out, '\n');
	}
}

void stats_tables_print(struct buf *out, const struct stats_tables *how, struct stats *s,
			const struct stats_arena *a, struct growth *growth)
{
	const struct stats_arena *whole = stats_merge(s);
	struct stats_tables copy = *how;
	const struct stats_tables *t = &copy;

	copy.lost = s->mutexes_lost;
	if (wanted(t, "summary"))
		stats_print_summary(out, t, s, whole);
	if (a && wanted(t, "waterfall"))
		stats_print_waterfall(out, t, s, a);
	if (whole && wanted(t, "advice"))
		stats_print_advice(out, t, s, whole);
	if (wanted(t, "growth"))
		stats_print_growth(out, t, growth);
	print_arenas(out, t, s);
	if (a)
		print_classes(out, t, a);
	print_global_mutexes(out, t, s);
	print_settings(out, t, s);
}
