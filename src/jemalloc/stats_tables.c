/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of a snapshot.  See stats_tables.h. */
#include "jemalloc/stats_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "jemalloc/merge.h"

#define SHOWN(...)                                                                                 \
	(const uint8_t[])                                                                          \
	{                                                                                          \
		__VA_ARGS__, STATS_TABLE_END                                                       \
	}
#define CLASSES(member) true, offsetof(struct stats_arena, member)
#define EVERY_MUTEX_FIELD SHOWN(0, 1, 2, 3, 4, 5, 6)

const struct stats_table stats_tables[] = {
	{ "arenas", "ARENAS", "arena", stats_arena_fields,
	  SHOWN(STATS_ARENA_TOTAL_ALLOCATED, STATS_ARENA_ACTIVE, STATS_ARENA_RESIDENT,
		STATS_ARENA_MAPPED, STATS_ARENA_SMALL_ALLOCATED, STATS_ARENA_LARGE_ALLOCATED,
		STATS_ARENA_RETAINED, STATS_ARENA_PDIRTY, STATS_ARENA_PMUZZY,
		STATS_ARENA_TCACHE_BYTES, STATS_ARENA_NTHREADS) },
	{ "bins", "BINS", NULL, stats_bin_fields,
	  SHOWN(STATS_BIN_SIZE, STATS_BIN_ALLOCATED, STATS_BIN_CURREGS, STATS_BIN_NREGS,
		STATS_BIN_CURSLABS, STATS_BIN_NONFULL_SLABS, STATS_BIN_NMALLOC, STATS_BIN_NDALLOC,
		STATS_BIN_NREQUESTS, STATS_BIN_NFILLS, STATS_BIN_NFLUSHES, STATS_BIN_WAIT),
	  CLASSES(bins), STATS_BIN_CURREGS, STATS_BIN_NMALLOC },
	{ "large", "LARGE CLASSES", NULL, stats_large_fields,
	  SHOWN(STATS_LARGE_SIZE, STATS_LARGE_ALLOCATED, STATS_LARGE_COUNT, STATS_LARGE_NMALLOC,
		STATS_LARGE_NDALLOC, STATS_LARGE_NREQUESTS, STATS_LARGE_LIVE_REQUESTED),
	  CLASSES(large), STATS_LARGE_COUNT, STATS_LARGE_NMALLOC },
	{ "extents", "EXTENTS", NULL, stats_extent_fields,
	  SHOWN(STATS_EXTENT_SIZE, STATS_EXTENT_NDIRTY, STATS_EXTENT_DIRTY, STATS_EXTENT_NMUZZY,
		STATS_EXTENT_MUZZY, STATS_EXTENT_NRETAINED, STATS_EXTENT_RETAINED),
	  CLASSES(extents), STATS_EXTENT_NRETAINED, STATS_EXTENT_NDIRTY },
	{ "mutexes", "MUTEXES", "mutex", stats_mutex_fields, EVERY_MUTEX_FIELD, true },
	{ "hpa", "HUGE PAGES (HPA)", NULL, stats_hpa_fields,
	  SHOWN(STATS_HPA_NPURGE_PASSES, STATS_HPA_NPURGES, STATS_HPA_NHUGIFIES,
		STATS_HPA_NDEHUGIFIES, STATS_HPA_FULL_NPAGESLABS_HUGE,
		STATS_HPA_FULL_NPAGESLABS_NONHUGE, STATS_HPA_EMPTY_NPAGESLABS_HUGE,
		STATS_HPA_EMPTY_NPAGESLABS_NONHUGE),
	  true },
	{ "slabs", "HUGE PAGES, PARTLY USED SLABS", NULL, stats_slab_fields,
	  SHOWN(1, 2, 3, 4, 5, 6, 7, 8), CLASSES(slabs), STATS_SLAB_NPAGESLABS_HUGE,
	  STATS_SLAB_NPAGESLABS_NONHUGE },
	{ "global-mutexes", "GLOBAL MUTEXES", "mutex", stats_mutex_fields, EVERY_MUTEX_FIELD },
	{ 0 },
};

const char stats_tables_names[] =
	"summary, waterfall, advice, growth, arenas, bins, large, extents, "
	"mutexes, hpa, slabs, global-mutexes, settings";

bool stats_tables_has(const char *name)
{
	size_t n = strlen(name);

	for (const char *at = stats_tables_names; n; at += 2) {
		if (!strncmp(at, name, n) && (!at[n] || at[n] == ','))
			return true;
		at += strcspn(at, ",");
		if (!*at)
			break;
	}
	return false;
}

static int field_of(const struct stats_table *t, const char *name)
{
	return stats_find(t->fields, false, name, strlen(name), -1);
}

bool stats_tables_field(const char *name)
{
	return FIND_ROW(t, stats_tables, field_of(t, name) >= 0) != NULL;
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

static bool is_something(uint64_t value)
{
	return value && value != STATS_NONE;
}

static void add_row(struct stats_table_rows *r, const uint64_t *values, const char *label)
{
	if (label)
		snprintf(r->labels[r->count], sizeof(*r->labels), "%s", label);
	r->values[r->count++] = values;
}

static void add_mutexes(struct stats_table_rows *r, const struct stats_mutexes *m)
{
	for (size_t i = 0; i < m->count; i++)
		add_row(r, m->list[i].value, m->list[i].name);
}

static void add_rows(struct stats_table_rows *r, const struct stats_table *t, const struct stats *s,
		     const struct stats_arena *a)
{
	const struct stats_rows *classes =
		t->classes ? (const struct stats_rows *)((const char *)a + t->classes) : NULL;
	char number[24];

	for (size_t i = 0; classes && i < classes->count; i++) {
		const uint64_t *row = stats_row(classes, i);

		if (is_something(row[t->used]) || is_something(row[t->also]))
			add_row(r, row, NULL);
	}
	if (t->fields == stats_mutex_fields)
		add_mutexes(r, t->of_arena ? &a->mutexes : &s->mutexes);
	for (size_t i = 0; t->fields == stats_arena_fields && i < s->arena_count; i++)
		add_row(r, s->arenas[i].value, stats_arena_name(s->arenas[i].id, number));
	for (unsigned i = 0; t->fields == stats_hpa_fields && i < STATS_HPA_COUNT && !r->count; i++)
		if (is_something(a->hpa[i]))
			add_row(r, a->hpa, NULL);
}

static size_t most_rows(const struct stats *s, const struct stats_arena *a)
{
	size_t most = 1 + s->arena_count + s->mutexes.count;

	return a ? most + a->bins.count + a->large.count + a->extents.count + a->slabs.count +
			       a->mutexes.count
		 : most;
}

struct order {
	const struct stats_table_rows *rows;
	int field;
};

static uint64_t sort_key(const struct order *o, size_t row)
{
	return stats_known(o->rows->values[row][o->field]);
}

static int by_field(const void *x, const void *y, void *order)
{
	uint64_t a = sort_key(order, *(const size_t *)x), b = sort_key(order, *(const size_t *)y);

	return (a < b) - (a > b);
}

/* Most first.  Labels go along with their rows. */
static void sort_rows(struct stats_table_rows *r, int field)
{
	auto_release(stats_table_rows_release) struct stats_table_rows before = *r;
	struct order o = { &before, field };
	auto_free size_t *order = xcalloc(r->count + 1, sizeof(*order));

	for (size_t i = 0; i < r->count; i++)
		order[i] = i;
	SORT_WITH(order, r->count, by_field, &o);
	r->values = xcalloc(r->count + 1, sizeof(*r->values));
	r->labels = xcalloc(r->count + 1, sizeof(*r->labels));
	for (size_t i = 0; i < r->count; i++) {
		r->values[i] = before.values[order[i]];
		memcpy(r->labels[i], before.labels[order[i]], sizeof(*r->labels));
	}
}

void stats_table_rows(const struct stats_table *t, const struct stats *s,
		      const struct stats_arena *a, const char *sort, struct stats_table_rows *r)
{
	int field = sort ? field_of(t, sort) : -1;
	size_t most = most_rows(s, a);

	*r = (struct stats_table_rows){ .values = xcalloc(most, sizeof(*r->values)),
					.labels = xcalloc(most, sizeof(*r->labels)) };
	add_rows(r, t, s, a);
	if (field >= 0)
		sort_rows(r, field);
}

void stats_table_rows_release(struct stats_table_rows *r)
{
	free(r->values);
	free(r->labels);
}
