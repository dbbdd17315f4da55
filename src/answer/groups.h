/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question groups answers: allocations put together, by stack or something else.  Any
 * thread. */
#include "answer/question.h"
#include "query/group.h"
#include "query/spark.h"

struct answer_groups {
	struct groups *groups;
	struct group_sort sort;
	struct page page;
	bool descending;
	struct sparks sparks; /* .points: 0 if none were asked for */
	uint32_t *curve_of;   /* by stack */
};

extern const struct question question_groups;

/* The same with a key that is no parameter: what "by" says is not looked at. */
int groups_by(struct ask *a, const struct group_key *key, struct answer_groups *ret);
/* "title": […], "total_count": …; `written` says how each is written. */
void groups_write(struct ask *a, const struct answer_groups *g, struct answer *written,
		  const char *title, struct json *j, struct sink *out);
void groups_drop(void *answer);
