/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A page of a view's rows, in some order.
 *
 * Only as much is sorted as the page needs.  Rows that are equal stay in the order of their
 * allocation, in both directions, so that pages fit together.  Any thread; the page is its
 * caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "query/view.h"

/* What rows can be sorted by, with | between: the columns of fields.def, and the thread. */
extern const char sort_words[];
/* By one of these words; NULL if it is none. */
const struct filter_field *sort_field(const char *name);
/* What it is called in an allocation as JSON; NULL: it is not there. */
const char *sort_member(const struct filter_field *field);
/* Is it the order that rows have anyway? */
bool sort_is_by_time(const struct filter_field *field);
/* "asc" or "dsc" (also "desc"); false if it is neither. */
bool sort_order(const char *word, bool *ret_descending);

struct page {
	uint32_t *rows;
	uint32_t count;
};
/* The rows from number `skip` on, at most `count`.  The caller frees rows. */
struct page sort_page(const struct view *v, const struct filter_field *field, bool descending,
		      uint32_t skip, uint32_t count);

/* What a page of `count` out of `total` things with keys needs: positions of the things from number
 * `skip` on; equal keys in the order of positions.  Returns how many there are. */
struct sort_item {
	uint64_t key; /* smaller first */
	uint32_t item;
};
uint32_t sort_items(struct sort_item *items, uint32_t total, uint32_t skip, uint32_t count);
