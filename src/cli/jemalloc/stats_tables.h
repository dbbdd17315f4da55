/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A snapshot of jemalloc's statistics as tables: for the terminal, and one of them as CSV. */
#include "base/buf.h"
#include "base/term.h"
#include "jemalloc/growth.h"
#include "jemalloc/stats.h"

struct stats_tables {
	const struct term *term;
	const char *arena; /* whose classes: NULL is the sum of all */
	const char *sort;  /* a field; NULL: as they come */
	const char *only;  /* one table, or NULL */
	bool human;	   /* 1.5 MiB instead of 1,572,864 */
	bool settings;	   /* jemalloc's configuration too */
	unsigned columns;  /* of the terminal, which nothing is to be wider than; 0: no limit */
	bool lost;	   /* of this snapshot: see stats.mutexes_lost */
};

/* "summary, arenas, bins, …" for messages. */
extern const char stats_tables_names[];
bool stats_tables_has(const char *name);
/* Whether any table has this field. */
bool stats_tables_field(const char *name);
/* The arena that `word` means (NULL: the sum of all), or NULL. */
const struct stats_arena *stats_tables_arena(struct stats *s, const char *word);
/* Everything but the file's name; `growth` of the file's snapshots. */
void stats_tables_print(struct buf *out, const struct stats_tables *t, struct stats *s,
			const struct stats_arena *a, struct growth *growth);
/* Parts of it: stats_print.c. */
void stats_print_summary(struct buf *out, const struct stats_tables *t, const struct stats *s,
			 const struct stats_arena *whole);
void stats_print_waterfall(struct buf *out, const struct stats_tables *t, const struct stats *s,
			   const struct stats_arena *a);
void stats_print_advice(struct buf *out, const struct stats_tables *t, const struct stats *s,
			const struct stats_arena *whole);
void stats_print_growth(struct buf *out, const struct stats_tables *t, struct growth *g);
/* Words behind so many blanks, in lines that the terminal has room for; "" is no line. */
void stats_print_sentence(struct buf *out, const struct stats_tables *t, unsigned indent,
			  enum term_style style, const char *text);
void stats_print_title(struct buf *out, const struct term *t, const char *text);

/* Rows of a table, as pointers to their fields; `labels` are texts in front, or NULL. */
struct stats_tables_rows {
	const uint64_t **values;
	const char **labels;
	size_t count;
};

/* A table that arenas have, or NULL: its fields, and what its rows are. */
const struct stats_field *stats_tables_rows(const char *name, const struct stats_arena *a,
					    const char *sort, struct stats_tables_rows *ret_rows);
void stats_tables_rows_release(struct stats_tables_rows *r);

/* One table as CSV, snapshot after snapshot: stats_csv.c. */
struct stats_csv {
	const struct stats_tables *tables;
	const char *name, *file;
	uint64_t number; /* of the snapshot in its file */
	int64_t time_ns;
	bool begun; /* the head was written */
};

void stats_csv(struct buf *out, struct stats_csv *c, struct stats *s);
void stats_csv_growth(struct buf *out, struct stats_csv *c, struct growth *g);
