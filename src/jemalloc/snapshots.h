/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Snapshots out of a file, one after the other: JSON or text, alone or in a row, with anything
 * between them; compressed (gzip, zstd) or not.  Memory is that of the largest document, however
 * long the file is. */
#include "base/buf_type.h"
#include "base/err.h"
#include "base/unpack.h"
#include "jemalloc/stats.h"
#include "jemalloc/when.h"

struct snapshots {
	struct unpack in;
	bool ended;
	bool follow; /* the file is being written: its end may not be the last */
	bool failed; /* reading ended early; `failure` is told when everything before it was */
	struct err failure;
	struct buf window; /* bytes of the file, as they were before packing, from `offset` on */
	uint64_t offset;
	size_t at;	    /* in the window: where the next document is looked for */
	uint64_t document;  /* where the last one began */
	int64_t time_ns;    /* since 1970: the last time in what is before it, or WHEN_NONE */
	struct stats stats; /* what the last one said */
	uint64_t documents;
};

/* Standard input for "-"; 0, or -errno with err. */
int snapshots_open(struct snapshots *r, const char *path, struct err *err);
void snapshots_memory(struct snapshots *r, const void *bytes, size_t size);
void snapshots_close(struct snapshots *r);
/* 1: r->stats is filled.  0: the end.  -EBADMSG: a document is broken or cut off (err says where);
 * it is passed over, and the next call goes on behind it.  Anything else: it cannot be read.
 * With r->follow, 0 says that there is no whole one more as yet, and it may be called again. */
int snapshots_next(struct snapshots *r, struct err *err);
/* What a file without a single document seems to be, for a message. */
const char *snapshots_guess(const struct snapshots *r);
