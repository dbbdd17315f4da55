/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The time that a question about a fleet looks at, and what it asks the server with: the buckets
 * of the range, or some of them, evenly, where all would be too many.  One thread. */
#include "base/buf_type.h"
#include "fleet/schema.h"
#include "query/filter.h"

struct fleet_wanted {
	uint64_t since, until; /* seconds since 1970; 0: not said */
	uint64_t last;	       /* seconds before the end; 0: not said */
};

struct fleet_range {
	const struct fleet *fleet;
	uint32_t step;
	uint32_t first, last; /* starts of buckets; both 0: there is nothing */
	uint32_t every;	      /* seconds from one bucket that is looked at to the next */
	bool stacks;	      /* the filter asks for stacks or sizes: it is on `samples` */
	bool everything;      /* nothing was said of times */
	struct buf condition; /* of the filter */
	struct buf within;    /* of buckets, all that are in the range; each that is looked at */
	struct buf some;
};

/* 0, or -errno with err.  Released in either case. */
int fleet_range_find(struct fleet_range *r, const struct fleet *f, const struct fleet_facts *facts,
		     const struct filter *filter, const struct fleet_wanted *w, struct err *err);
void fleet_range_release(struct fleet_range *r);
/* " FROM curves WHERE …", or of `samples` where the filter wants that: then some buckets only. */
void fleet_range_from(const struct fleet_range *r, struct buf *out);

/* Figures at points of the range, where some have none since no bucket of theirs was looked at:
 * they get those of the point before. */
void fleet_range_fill(const struct fleet_range *r, uint64_t *values, size_t rows, uint32_t points);
/* The point that a bucket is in. */
uint32_t fleet_range_point(const struct fleet_range *r, uint32_t bucket, uint32_t points);

/* What rows are of: NULL if it is no such word.  `label` is the label's name of "label". */
#define FLEET_KEYS "service|host|build|release|command|label|day|recording"
bool fleet_key(struct buf *out, const char *word, const char *label);
/* " GLOBAL ANY INNER JOIN (…) USING recording", with those columns of `recordings`. */
void fleet_join_recordings(struct buf *out, const char *columns);
