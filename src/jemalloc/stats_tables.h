/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The tables that a snapshot has: arenas, bins, mutexes and the like, as rows of numbers; and each
 * of these, or what follows from them, as CSV.  For memoir jemalloc stats. */
#include "jemalloc/growth.h"
#include "jemalloc/stats.h"

struct buf;

#define STATS_TABLE_END UINT8_MAX

struct stats_table {
	const char *name, *title;
	const char *label; /* what rows are called by: "arena", "mutex"; NULL: by their numbers */
	const struct stats_field *fields;
	const uint8_t *shown; /* fields for a reader, the most important first */
	bool of_arena;	      /* each arena has one; otherwise the whole snapshot */
	/* Of size classes: where they are in an arena, and two fields of which a row has one. */
	size_t classes;
	uint8_t used, also;
};

extern const struct stats_table stats_tables[]; /* in the order of printing; no name at the end */
/* All tables, also those that are no rows of numbers: "summary, arenas, bins, …" */
extern const char stats_tables_names[];
bool stats_tables_has(const char *name);
/* Whether any table has this field. */
bool stats_tables_field(const char *name);
/* The arena that `word` means: "merged", "destroyed", a number; NULL for the sum of all.  NULL:
 * there is none. */
const struct stats_arena *stats_tables_arena(struct stats *s, const char *word);

struct stats_table_rows {
	const uint64_t **values;
	char (*labels)[28];
	size_t count;
};

/* Rows of size classes that are in use, all of others; by a field, most first, or as they come.
 * `a` may be NULL for a table of the whole snapshot. */
void stats_table_rows(const struct stats_table *t, const struct stats *s,
		      const struct stats_arena *a, const char *sort,
		      struct stats_table_rows *ret_rows);
void stats_table_rows_release(struct stats_table_rows *r);

/* One table as CSV, snapshot after snapshot. */
struct stats_csv {
	const char *name, *file, *arena, *sort;
	uint64_t number; /* of the snapshot in its file */
	int64_t time_ns;
	bool begun; /* the head was written */
};

void stats_csv_write(struct buf *out, struct stats_csv *c, struct stats *s);
/* Once for each file: its growth, if that is the table. */
void stats_csv_write_growth(struct buf *out, struct stats_csv *c, struct growth *g);
