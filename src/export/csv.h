/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Allocations and groups as lines of CSV (RFC 4180): the export csv, memoir allocations --csv and
 * memoir groups --csv write the same.  One thread at a time for each of these; any thread. */
#include "base/buf_type.h"
#include "query/group.h"
#include "query/stacks.h"

struct csv_lines {
	const struct view *view;
	struct model_clock clock;
	struct stack_frames frames;
	/* Function, file and line of each stack's innermost frame, as the end of a line: written
	 * once, and copied from then on. */
	struct buf wheres;
	struct csv_where {
		size_t offset, size;
	} * where_of; /* by stack */
};

void csv_lines_init(struct csv_lines *l, const struct view *v);
void csv_lines_release(struct csv_lines *l);

/* The names of columns, and a row of the view. */
void csv_allocations_head(struct buf *out);
void csv_allocation(struct csv_lines *l, struct buf *out, uint32_t row);
/* The same of groups. */
void csv_groups_head(struct buf *out, const struct groups *g);
void csv_group(struct csv_lines *l, struct buf *out, const struct groups *g,
	       const struct group *row);
