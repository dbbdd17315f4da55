/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Allocations in groups: by stack, responsible function, function, source line, module, thread,
 * call, size or lifetime.
 *
 * A group's `matched` sums are those of the view's rows; `all` are those of every allocation that
 * belongs to it, whatever the filter, and of what was removed from the recording as far as that is
 * known (threads, calls, sizes and lifetimes of removed ones are not).  By function, source line
 * and module an allocation counts once in every group that a frame of its stack belongs to, however
 * often it recurs; `self` counts it only in the group of its responsible frame (responsible.h).  By
 * responsible function it counts there alone.  Any thread; the groups are their caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "model/summary.h"
#include "query/peaks.h"
#include "query/sort.h"
#include "query/view.h"

struct buf;

enum group_kind {
	GROUP_STACK,
	GROUP_RESPONSIBLE,
	GROUP_FUNCTION,
	GROUP_SOURCE,
	GROUP_MODULE,
	GROUP_THREAD,
	GROUP_CALL,
	GROUP_SIZE,	  /* powers of two */
	GROUP_SIZE_CLASS, /* four steps to a doubling, as allocators have them */
	GROUP_LIFETIME,	  /* decades */
};

struct group_key {
	const char *name;
	enum group_kind kind;
	bool from_stack; /* groups are made of whole stacks; functions, lines and modules have self
			  */
	bool ordered;	 /* has an order of its own: sizes and lifetimes */
	const char *help;
};
extern const struct group_key group_keys[]; /* ends with a row without a name */
const struct group_key *group_key_find(const char *name);

struct group {
	/* By kind: the stack; the function's or file's string; the module; the thread's row; the
	 * call; the class.  What has no name is kept apart by its module. */
	uint32_t id;
	uint32_t line;	 /* GROUP_SOURCE; 0: not known.  GROUP_RESPONSIBLE without name: location */
	uint32_t module; /* of what has no name, else 0 */
	uint32_t call;	 /* GROUP_STACK: of its first allocation */
	struct summary_sums matched, self, all;
};

struct groups {
	const struct view *view;
	const struct group_key *key;
	struct group *rows; /* those that have something that matches */
	uint32_t count;
};

struct groups *groups_new(const struct view *v, const struct group_key *key);
struct groups *groups_free(struct groups *g);
/* Adds what a group is called: "main", "p.c:12", "worker 1 (4242)", "1.00 KiB to 2.00 KiB - 1". */
void groups_label(const struct groups *g, const struct group *group, struct buf *out);

/* What groups are sorted by: only_matched.size, all.leaked_count …; without a prefix only_matched.
 */
enum group_number {
#define SUM(id, ...) NUMBER_##id,
#include "query/group_fields.def"
#undef SUM
	NUMBER_PEAK_AT,	   /* all, by stack */
	NUMBER_PEAK_SIZE,  /* all, by stack */
	NUMBER_PEAK_COUNT, /* all, by stack */
	NUMBER_KEY,	   /* the group's own order */
	NUMBERS
};

enum group_part { PART_MATCHED, PART_ALL, PART_SELF };

struct group_sort {
	enum group_part part;
	enum group_number number;
};
extern const char *const group_numbers[NUMBERS];
/* A number of group_fields.def; 0 of what sums have not. */
uint64_t group_sum(const struct summary_sums *s, enum group_number number);
/* False if there is no such number, or the key has none. */
bool group_sort_find(const struct group_key *key, const char *name, struct group_sort *ret_sort);
/* Positions in rows from number `skip` on, at most `count`; equal ones in the order of rows. */
struct page groups_page(const struct groups *g, struct group_sort sort, bool descending,
			uint32_t skip, uint32_t count);

/* Bounds of a class of GROUP_SIZE or GROUP_SIZE_CLASS, both inclusive. */
void group_size_bounds(enum group_kind kind, uint32_t class, uint64_t *ret_low, uint64_t *ret_high);
/* A class of GROUP_LIFETIME: from 10^(class + 2) ns (0 for the first) to ten times that;
 * GROUP_NEVER_FREED is its own. */
#define GROUP_LIFETIMES 18
#define GROUP_NEVER_FREED GROUP_LIFETIMES
