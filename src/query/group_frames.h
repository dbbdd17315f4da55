/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Groups by what the frames of stacks have in common: function, source line, module, or the
 * responsible function.  Called by
 * group.c, on the thread that asks for groups. */
#include "query/group.h"

/* Fills out->rows from sums by row of the summary. */
void group_frames(struct groups *out, const struct summary *s, const struct summary_sums *matched);
