/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Python's frames among the C frames of a stack.  See python.c. */
#include <link.h>

#include "recorder/rt.h"

/* A file was met: is the interpreter in it?  Under the lock.  `late`: it may be
 * unloaded. */
void python_look_at(const struct link_map *map, bool late) HIDDEN;
/* The node of a stack whose C frames are those of `node`, with Python's functions in place of the
 * interpreter's loop; `node` itself where there are none, or they cannot be told for sure.
 * `unsure`: memory may have been unmapped since Python last looked at it. */
uint32_t python_stack(struct rt_thread *t, const uint64_t *frame, uint32_t node,
		      bool unsure) HIDDEN;
/* Something was unmapped. */
void python_forget_pages(void) HIDDEN;
/* Around dlclose, which may take the interpreter away. */
void python_before_unloading(void) HIDDEN;
void python_after_unloading(void) HIDDEN;
/* In a forked child: what was told is in the parent's memory. */
void python_forget(void) HIDDEN;
