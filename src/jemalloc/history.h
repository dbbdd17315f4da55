/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A file of statistics as the page shows it: curves over all of its snapshots, and the snapshots
 * themselves as JSON.
 *
 * Memory is bounded however long the file is: beyond the limits every second snapshot is let go,
 * evenly spread, and the last one always stays.  For memoir jemalloc report and for the server;
 * docs/jemalloc.md says what the keys mean. */
#include "base/buf_type.h"
#include "base/err.h"
#include "base/json.h"
#include "jemalloc/growth.h"
#include "jemalloc/snapshots.h"

#define HISTORY_POINTS 4096 /* of the curves, at most, and the last one */
#define HISTORY_PROBLEMS 20 /* that are told one by one */

enum history_curve {
	HISTORY_ALLOCATED,
	HISTORY_ACTIVE,
	HISTORY_RESIDENT,
	HISTORY_METADATA,
	HISTORY_MAPPED,
	HISTORY_RETAINED,
	HISTORY_UPTIME_NS,
	HISTORY_CURVE_COUNT
};

struct history_point {
	uint64_t number; /* of the snapshot in its file */
	int64_t time_ns; /* since 1970, or WHEN_NONE */
	uint64_t value[HISTORY_CURVE_COUNT];
};

struct history_document {
	uint64_t number;
	char *json;
	size_t size;
};

struct history {
	char *name;
	char version[64]; /* of jemalloc, in the last snapshot */
	uint64_t snapshots;
	struct history_point *points;
	size_t point_count, point_room;
	uint64_t point_stride;
	struct history_document *documents; /* by number */
	size_t document_count, document_room, document_bytes;
	uint64_t document_stride;
	size_t document_max, bytes_max;
	struct buf problems; /* texts, each with its NUL */
	uint64_t problem_count;
	bool missing; /* it was said what snapshots lack */
	struct history_point last;
	struct growth growth; /* while it is read */
	struct buf grown;     /* then: JSON of it */
};

extern const char *const history_curves[]; /* their names */

/* At most `most` snapshots (and the last one), and so many bytes of them. */
void history_init(struct history *h, const char *name, size_t most, size_t bytes);
void history_release(struct history *h);
/* Reads all that is in `r`.  0, also where some of it is broken (see problems); -EBADMSG with one
 * sentence where there is no snapshot in it, or -errno.  `go_on` may be NULL; false stops, as
 * -ECANCELED. */
int history_read(struct history *h, struct snapshots *r, bool (*go_on)(void *context, uint64_t at),
		 void *context, struct err *err);
/* Members of an object; any thread.  With `documents` the snapshots are among them, in the order of
 * "kept". */
void history_write(struct json *j, const struct history *h, bool documents);
/* The snapshot of this number as it is kept, or NULL. */
const struct history_document *history_document(const struct history *h, uint64_t number);
