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

enum sort_key_kind {
	SORT_TIMESTAMP,
	SORT_ADDRESS,
	SORT_SIZE,
	SORT_USABLE_SIZE,
	SORT_LIFETIME,
	SORT_DEALLOCATED,
	SORT_CHAIN_LIFETIME,
	SORT_CHAIN_LENGTH,
	SORT_THREAD,
};

struct sort_key {
	const char *name;
	enum sort_key_kind kind;
	const char *help;
};
extern const struct sort_key sort_keys[]; /* ends with a row without a name */

/* NULL if there is none; '-' and '_' are alike. */
const struct sort_key *sort_key_find(const char *name);
/* "asc" or "dsc" (also "desc"); false if it is neither. */
bool sort_order(const char *word, bool *ret_descending);

struct page {
	uint32_t *rows;
	uint32_t count;
};
/* The rows from number `skip` on, at most `count`.  The caller frees rows. */
struct page sort_page(const struct view *v, const struct sort_key *key, bool descending,
		      uint32_t skip, uint32_t count);

/* What a page of `count` out of `total` things with keys needs: positions of the things from number
 * `skip` on; equal keys in the order of positions.  Returns how many there are. */
struct sort_item {
	uint64_t key; /* smaller first */
	uint32_t item;
};
uint32_t sort_items(struct sort_item *items, uint32_t total, uint32_t skip, uint32_t count);
