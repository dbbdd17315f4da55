/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Some rows in a row as plain arrays, whether they are packed or not: for loops over all of them.
 *
 *	struct columns_window w;
 *
 *	EACH_WINDOW(at, n, first, count) {
 *		const struct columns *c = columns_window(&w, all, at, n, WANT_size | WANT_stack);
 *		… columns_size(c, row), columns_stack(c, row) of rows [at, at + n)
 *	}
 *
 * Other rows, and columns that were not wanted, must not be asked for: they lead nowhere.  Plain
 * columns are their own window, and cost nothing.  It is large, and lives on the caller's stack. */
#include "base/order.h"
#include "pairing/columns.h"

#define WINDOW_ROWS 1024u

#define X(type, name) WANT_BIT_##name,
enum { COLUMNS(X) };
#undef X
#define X(type, name) WANT_##name = 1 << WANT_BIT_##name,
enum { COLUMNS(X) };
#undef X
/* columns_size() and columns_slack() are made of this one. */
#define WANT_size WANT_sizes

struct columns_window {
	struct columns view;
#define X(type, name) type name[WINDOW_ROWS];
	COLUMNS(X)
#undef X
};

#define EACH_WINDOW(at, n, first, total)                                                           \
	for (uint32_t end_ = (uint32_t)((first) + (total)), at = (uint32_t)(first), n;             \
	     at < end_ && (n = MIN(end_ - at, WINDOW_ROWS)); at += n)

/* At most WINDOW_ROWS of them. */
const struct columns *columns_window_unpack(struct columns_window *w, const struct columns *c,
					    uint32_t first, uint32_t count, unsigned wanted);

static inline const struct columns *columns_window(struct columns_window *w,
						   const struct columns *c, uint32_t first,
						   uint32_t count, unsigned wanted)
{
	return c->packed ? columns_window_unpack(w, c, first, count, wanted) : c;
}

/* The smallest and the largest value of a packed column in these rows, or in some more. */
void columns_zone(const struct columns *c, enum packed_column column, uint32_t first,
		  uint32_t count, uint64_t *ret_low, uint64_t *ret_high);
