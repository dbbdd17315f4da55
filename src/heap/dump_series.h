/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Many dumps as a series: what each function or stack had in each of them, and how that grew.
 *
 * All dumps are added to one profile, so a row is the same code in each of them by its name,
 * wherever it was loaded; symbols are looked up once.  One thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "heap/profile.h"
#include "heap/top.h"

struct buf;

enum dump_series_kind {
	DUMP_SERIES_FLAT,   /* names: what each allocated itself */
	DUMP_SERIES_CUM,    /* names: with everything that they call */
	DUMP_SERIES_STACKS, /* whole stacks */
};

struct dump_series_row {
	size_t what;	      /* number of a name or of a stack of the profile */
	const double *values; /* one for each dump */
	double change;	      /* from the first to the last */
	double slope;	      /* for each dump: of the straight line that fits best */
	double fit;	      /* 0 to 1: how much of what happened is that line */
};

struct dump_series {
	const struct profile *profile;
	enum dump_series_kind kind;
	enum heap_measure measure;
	const char *const *names; /* of the dumps */
	size_t dump_count;
	double *total; /* of each dump */
	double *values;
	struct dump_series_row *rows; /* what grew most first */
	size_t row_count;
};

/* `p` is finished; sample_ends[i] was its sample_count when dump i had been added.  There is at
 * least one dump.  Profile and names are kept, not copied. */
void dump_series_compute(struct dump_series *s, const struct profile *p, const char *const *names,
			 const size_t *sample_ends, size_t dump_count, enum dump_series_kind kind,
			 enum heap_measure measure);
void dump_series_release(struct dump_series *s);
/* What a row is of: a function's name, or "inner ← outer" with so many frames at most. */
void dump_series_put_name(struct buf *out, const struct dump_series *s,
			  const struct dump_series_row *r, size_t most);
/* `top` rows at most. */
void dump_series_write_json(struct json *j, const struct dump_series *s, uint64_t top);
void dump_series_write_csv(struct buf *out, const struct dump_series *s, uint64_t top);
