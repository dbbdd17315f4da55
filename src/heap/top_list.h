/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Who holds how much in one profile, or in two beside each other, by name: rows that are chosen and
 * ordered.  For /dumps/{id}/top.  Any thread. */
#include "base/json.h"
#include "heap/top.h"

struct sink;

enum top_side { TOP_AFTER, TOP_BEFORE };

/* What orders rows: a change by its size, either way. */
#define TOP_LIST_ORDERS "flat|cum|name|flat_before|cum_before|flat_change|cum_change"

struct top_list_question {
	enum heap_measure measure;
	const char *order; /* one of the above */
	bool descending;
	const char *search; /* part of a name, in any case; NULL: all */
};

struct top_list_row {
	const char *name;
	struct dump_amounts flat[2], cum[2]; /* by side */
};

struct top_list {
	struct top_list_question question;
	unsigned sides;
	struct dump_amounts total[2];
	struct strings names;
	struct top_list_row *rows;
	size_t count, room;
};

/* `profiles`: one, or two with the one before behind it; both are finished. */
void top_list_compute(const struct profile *profiles, unsigned sides,
		      const struct top_list_question *q, struct top_list *ret);
/* "total", "total_count" and "rows", `most` of them from `skip` on. */
void top_list_write_json(struct json *j, const struct top_list *l, uint32_t skip, uint32_t most,
			 struct sink *out);
void top_list_release(struct top_list *l);
