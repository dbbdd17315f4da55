/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which memory maps, in which order.
 *
 * A map has nearly all that an allocation has: a beginning, an end, a size, an address, stacks and
 * threads.  So a list of maps is a model of its own in which each map is a row, and every filter of
 * filter.h works on it: `size >= 1M and not leaked`.  What only a map has (peak_rss, permissions)
 * is in the rows below, for command line and HTTP.  Any thread makes a list, which several may read
 * afterwards. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/map_history.h"
#include "query/view.h"

struct map_filter_row {
	const char *name; /* peak_rss_min; as an option --peak-rss-min */
	enum filter_arg type;
	const char *values; /* of ARG_CHOICE, for help */
	const char *help;
};
extern const struct map_filter_row map_filter_rows[]; /* ends with a row without a name */

#define MAP_FILTER_NAME_ROOM 512
#define MAP_FILTER_FLAGS 6
#define MAP_FILTER_OWN 5 /* "memoir" */
struct map_filter {
	uint64_t peak_rss_min, peak_rss_max;
	int8_t flags[MAP_FILTER_FLAGS]; /* 1: only true, -1: only false, 0: either */
	bool by_id;
	uint64_t id;
	bool by_address;
	uint64_t holds;			 /* an address */
	char name[MAP_FILTER_NAME_ROOM]; /* a part of the map's; "": any */
};

void map_filter_init(struct map_filter *f);
/* -ENOENT: there is no such row (it may be one of filter.h); -EINVAL with err. */
int map_filter_set(struct map_filter *f, const char *name, const char *value, struct err *err);

struct map_list {
	const struct map_history *maps;
	struct model *shadow; /* its allocations are the maps, by number */
	struct view *view;    /* of the shadow: which of them */
	uint64_t at;	      /* the moment of MAP_SORT_RSS; NEVER: the end */
};

/* NULL with err.  `f` (may be NULL), `only` and the rest must outlive it. */
struct map_list *map_list_new(const struct model *m, struct locations *p, const struct filter *f,
			      const struct map_filter *only, struct err *err);
struct map_list *map_list_free(struct map_list *l);

enum map_sort {
	MAP_SORT_TIMESTAMP,
	MAP_SORT_ADDRESS,
	MAP_SORT_SIZE,
	MAP_SORT_PEAK_RSS,
	MAP_SORT_RSS,
	MAP_SORT_LIFETIME,
	MAP_SORT_THREAD,
	MAP_SORT_NAME,
	MAP_SORTS
};
/* What of a map was resident at the list's moment. */
uint64_t map_list_rss(const struct map_list *l, uint32_t map);
/* By name; MAP_SORTS if there is none. */
enum map_sort map_sort_find(const char *name);
extern const char *const map_sort_names[MAP_SORTS];
/* The numbers of maps on a page; the caller frees *ret_rows.  Returns how many. */
uint32_t map_list_page(const struct map_list *l, enum map_sort sort, bool descending, uint32_t skip,
		       uint32_t count, uint32_t **ret_rows);
