/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Stacks weighed by the resident memory that their blocks keep: the measure `pinned` of weigh.h.
 * Bytes are what a stack's blocks keep alone and its part of what others keep, too; blocks are
 * those that are alive.  Any thread. */
#include "query/weigh.h"

void blame_weigh(struct stack_weights *ret_weights, const struct view *v,
		 const struct measuring *how, bool by_thread);
