/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How large blocks are, and how long they live.  Any thread; the result is its caller's. */
#include <stdint.h>

#include "query/measure.h"
#include "query/view.h"

enum histogram_kind {
	HISTOGRAM_SIZE,	    /* bins of powers of two */
	HISTOGRAM_LIFETIME, /* bins of powers of ten, in ns */
	HISTOGRAM_KINDS
};
extern const char *const histogram_kinds[HISTOGRAM_KINDS]; /* "size", "lifetime" */

struct histogram_bin {
	uint64_t from, to; /* bytes or ns: from <= value < to; NEVER: no end */
	bool never;	   /* what was not freed: the last bin of lifetimes */
	struct weight weight;
	uint64_t slack; /* usable minus requested bytes */
};

/* One size, exactly. */
struct size_row {
	uint64_t size;
	struct weight weight;
	uint64_t slack;
};

#define HISTOGRAM_BINS 66

struct histogram {
	enum histogram_kind kind;
	struct histogram_bin bins[HISTOGRAM_BINS]; /* empty ones at both ends are left out */
	unsigned count;
	struct weight total;
	struct size_row *sizes; /* of HISTOGRAM_SIZE: every size there is, most bytes first */
	uint32_t size_count;
};

void histogram_init(struct histogram *h, const struct view *v, const struct measuring *how,
		    enum histogram_kind kind);
void histogram_release(struct histogram *h);
/* Sorts the exact sizes by the number of blocks instead. */
void histogram_by_count(struct histogram *h);
