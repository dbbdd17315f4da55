/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers of arenas over snapshots: any fields (fields.h), as they are, as differences from another
 * snapshot, or as shares of what an arena has mapped.
 *
 * A series is read first, from statistics or from what extract-jem-stats wrote, and keeps one row
 * for each arena of each snapshot; a table is computed from it.  For memoir jemalloc abs, del and
 * eff.  One thread. */
#include "base/json.h"
#include "jemalloc/fields.h"
#include "jemalloc/snapshots.h"

struct buf;

#define ARENA_SERIES_FIELDS 16
#define ARENA_SERIES_ALL (-1) /* the sum of all arenas, as an arena's number */

struct arena_series_row {
	int64_t id;
	size_t value; /* where its numbers begin: one for each field */
};

struct arena_series_iteration {
	int64_t time_ns;     /* since 1970, or WHEN_NONE */
	uint64_t uptime;     /* ns, or STATS_NONE */
	size_t first, count; /* of rows, by id */
};

struct arena_series {
	struct fields_name fields[ARENA_SERIES_FIELDS];
	unsigned field_count;
	bool arenas, totals; /* has rows of arenas, of the sum */
	struct arena_series_iteration *iterations;
	size_t count, room;
	struct arena_series_row *rows;
	size_t row_count, row_room;
	uint64_t *values;
	size_t value_count, value_room;
};

/* `fields` with commas between them; `totals` asks for the sum of all arenas too.  0, or -EINVAL
 * with err. */
int arena_series_init(struct arena_series *s, const char *fields, bool totals, struct err *err);
void arena_series_release(struct arena_series *s);
/* Adds the snapshot that was read last. */
void arena_series_add(struct arena_series *s, struct snapshots *r);
/* Adds what extract-jem-stats wrote (jemdata.h).  0, or -errno with err. */
int arena_series_read_jemdata(struct arena_series *s, const char *path, struct err *err);
/* 0, or -ERANGE with err: an iteration of [from, to) is not there. */
int arena_series_check(const struct arena_series *s, uint64_t from, uint64_t to, struct err *err);
/* The row of an arena in an iteration, or NULL. */
const struct arena_series_row *arena_series_find(const struct arena_series *s, size_t iteration,
						 int64_t id);

enum arena_series_kind { ARENA_SERIES_ABS, ARENA_SERIES_DEL, ARENA_SERIES_EFF };

struct arena_table_question {
	enum arena_series_kind kind;
	uint64_t from, to, first; /* iterations; first: what differences are from */
	bool consecutive;	  /* differences are from the one before instead */
	bool rates;		  /* differences in a second */
	uint64_t threshold;	  /* bytes: rows with less than that are left out */
};

struct arena_table_column {
	char name[96];
	bool bytes, share; /* share: in hundredths of what is mapped */
	unsigned field, digits;
};

struct arena_table_cell {
	bool known;
	int64_t number; /* where a column has no digits */
	double value;
};

struct arena_table_row {
	size_t iteration;
	int64_t time_ns, id;
	bool is_new, gone; /* against the other snapshot; nothing is known of one that is gone */
};

struct arena_table {
	size_t iterations; /* of the series */
	struct arena_table_column columns[2 * ARENA_SERIES_FIELDS];
	unsigned column_count;
	struct arena_table_row *rows;
	size_t row_count, row_room;
	struct arena_table_cell *cells; /* row by row */
	size_t cell_count, cell_room;
};

/* 0, or -ERANGE with err. */
int arena_table_compute(const struct arena_series *s, const struct arena_table_question *q,
			struct arena_table *ret, struct err *err);
void arena_table_release(struct arena_table *t);
/* An arena's number, or "all". */
const char *arena_table_id(const struct arena_table_row *r, char room[24]);
const char *arena_table_note(const struct arena_table_row *r);
void arena_table_write_json(struct json *j, const struct arena_table *t);
void arena_table_write_csv(struct buf *out, const struct arena_table *t);
