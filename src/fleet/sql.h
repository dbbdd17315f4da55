/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* SQL for the fleet's server: the one place that writes what somebody else chose into a statement.
 *
 * Texts are literals and names are identifiers, both quoted and escaped here, and a filter becomes
 * a condition on the rows of `samples`.  Nothing else may put a text from outside into SQL. */
#include <stdint.h>

#include "base/err.h"
#include "query/filter.h"

struct buf;

/* 'it\'s' */
void sql_text(struct buf *out, const char *text);
/* `a name` */
void sql_name(struct buf *out, const char *name);

/* Columns of `recordings` that filters know and that rows are grouped by; NULL if there is none. */
const char *sql_recording_column(const char *field);

/* What a filter chooses, as a condition on `samples` ("1" without a filter): 0, or -EINVAL with
 * err: it asks for what a fleet does not know.  `step` is how many seconds a bucket has. */
int sql_condition(struct buf *out, const struct filter *f, uint32_t step, struct err *err);
/* Does a filter know buckets?  Otherwise it is a condition on `totals`, too. */
bool sql_asks_for_time(const struct filter *f);
/* The same of rows of `curves`, which know no stacks and no sizes: -ENOTSUP if it asks for those.
 */
int sql_condition_of_curves(struct buf *out, const struct filter *f, uint32_t step,
			    struct err *err);
