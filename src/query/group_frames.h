/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Groups by what the frames of stacks have in common: function, source line, module.  Called by
 * group.c, on the thread that asks for groups. */
#include "query/group.h"

/* Fills out->rows from sums by row of the summary. */
void group_frames(struct groups *out, const struct summary *s, const struct summary_sums *matched);
/* Is a function of this name only in between the program and its allocator? */
bool is_allocator_function(const char *name);
