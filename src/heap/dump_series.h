/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Many dumps as a series: what each function or stack had in each of them, and how that grew.
 *
 * All dumps are added to one profile, so a row is the same code in each of them by its name,
 * wherever it was loaded; symbols are looked up once.  One thread. */
#include <stddef.h>
#include <stdint.h>

#include "heap/profile.h"
#include "heap/top.h"

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
	enum dump_series_kind kind;
	size_t dump_count;
	double *total; /* of each dump */
	double *values;
	struct dump_series_row *rows; /* what grew most first */
	size_t row_count;
};

/* `p` is finished; ends[i] was its sample_count when dump i had been added.  There is at least one
 * dump. */
void dump_series_make(struct dump_series *s, const struct profile *p, const size_t *sample_ends,
		      size_t dump_count, enum dump_series_kind kind, enum heap_measure measure);
void dump_series_release(struct dump_series *s);
