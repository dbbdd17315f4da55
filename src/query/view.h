/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A filter applied to a recording: which allocations match.  What groups, trees, series and
 * exporters take.
 *
 * Scans go block by block, on all cores:
 *
 *	static void work(void *context, unsigned worker, uint64_t first, uint64_t count)
 *	{
 *		struct columns_window w;
 *
 *		EACH_WINDOW(at, n, first, count) {
 *			const struct columns *c = view_window(v, &w, at, n, WANT_size);
 *
 *			VIEW_EACH(v, at, n, row)
 *				… columns_size(c, row) …
 *		}
 *	}
 *	parallel_for(v->model->allocations.count, VIEW_BLOCK, work, &context);
 *
 * Any thread makes a view; several may read it then, also through its cache of weights. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/locations.h"
#include "model/model.h"
#include "pairing/columns_window.h"
#include "query/filter.h"

#define VIEW_BLOCK 65536u /* rows; a multiple of 64 */

struct responsible;
struct view_source;
struct weight_cache;

struct view {
	const struct model *model;
	struct locations *locations;
	const struct filter *filter;	   /* NULL: none */
	uint64_t *bits;			   /* one per row; NULL: all rows */
	uint32_t count;			   /* rows that match */
	uint64_t bytes;			   /* of them, as requested */
	struct responsible *responsible;   /* NULL: the recording's, see responsible.h */
	struct weight_cache *weight_cache; /* NULL: its weights are not cached */
	struct view_source *source;	   /* NULL: it is the rows above; else see view_source.h */
};

/* NULL with err: a regular expression that takes too long, a date where none is known.  All three
 * must outlive the view; `f` may be NULL. */
struct view *view_new(const struct model *m, struct locations *p, const struct filter *f,
		      struct err *err);
struct view *view_free(struct view *v);
/* It will be asked for weights again and again: see weight_cache.h. */
void view_cache_weights(struct view *v);

static inline bool view_has(const struct view *v, uint32_t row)
{
	return !v->bits || v->bits[row / 64] >> (row % 64) & 1;
}

/* Bits of the 64 rows from word * 64 on; those behind the last row are 0. */
static inline uint64_t view_word(const struct view *v, uint32_t word)
{
	uint32_t left;

	if (v->bits)
		return v->bits[word];
	left = v->model->allocations.count - word * 64;
	return left >= 64 ? UINT64_MAX : (1ull << left) - 1;
}

/* The first matching row from `row` on that is below `end`, or `end`. */
static inline uint32_t view_next(const struct view *v, uint32_t row, uint32_t end)
{
	uint64_t word;

	if (!v->bits || row >= end)
		return row < end ? row : end;
	word = v->bits[row / 64] >> (row % 64);
	if (word & 1)
		return row;
	if (word) {
		row += (uint32_t)__builtin_ctzll(word);
		return row < end ? row : end;
	}
	for (row = (row / 64 + 1) * 64; row < end; row += 64)
		if (v->bits[row / 64]) {
			row += (uint32_t)__builtin_ctzll(v->bits[row / 64]);
			return row < end ? row : end;
		}
	return end;
}

#define VIEW_EACH(v, first, count, row)                                                            \
	for (uint32_t view_end_ = (uint32_t)((first) + (count)),                                   \
		      row = view_next((v), (uint32_t)(first), view_end_);                          \
	     row < view_end_; row = view_next((v), row + 1, view_end_))

/* Columns for a loop over those of these rows that match: a window of all, or where few match, or
 * none, the model's columns. */
const struct columns *view_window(const struct view *v, struct columns_window *w, uint32_t first,
				  uint32_t count, unsigned wanted);

/* The rows of a view from its n-th on, at most `count`; returns how many there are. */
uint32_t view_rows(const struct view *v, uint32_t n, uint32_t count, uint32_t *ret_rows);
