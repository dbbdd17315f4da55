/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A filter made ready for one recording: every bound in ticks and bytes, every condition on stacks,
 * threads and calls as a set of bits, cheap things first.
 *
 * Blocks of rows are evaluated independently of each other, each column read only for the rows that
 * are still in question.  A plan is made by one thread; several may run it then at the same time,
 * on different rows. */
#include <stdint.h>

#include "model/locations.h"
#include "model/model.h"
#include "query/condition.h"
#include "query/view.h"

#define PLAN_WORDS 64		      /* of 64 rows in a block */
#define PLAN_BLOCK (PLAN_WORDS * 64u) /* rows */

struct plan;

/* NULL with err.  Nothing of `f` is needed afterwards. */
struct plan *plan_new(const struct view *v, const struct filter *f, struct err *err);
struct plan *plan_free(struct plan *p);
/* Sets the bits of the rows that match among `count` rows (at most PLAN_BLOCK) from `first` on. */
void plan_run(const struct plan *p, uint32_t first, uint32_t count, uint64_t bits[PLAN_WORDS]);
