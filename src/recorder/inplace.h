/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions that are hooked where they are: see inplace.c. */
#include "recorder/rt.h"

/* In the constructor, once the collector is there. */
void inplace_install(void) HIDDEN;
/* Is the call with this frame one that an allocator makes for itself, as part of a call that is
 * being recorded?  Only asked where rt.watch_callers is set. */
bool inplace_nested(struct rt_thread *t, const uint64_t *frame) HIDDEN __attribute__((cold));
