/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions that behave like wrappers around an allocator, whatever they are called: zmalloc of
 * redis, lalloc of vim, whatever a stripped program has.
 *
 * Such a function has the allocator alone below it, at one place or two; many functions call it,
 * get most of their memory through it, and want different sizes.  A constructor is not one: what it
 * makes is always as large.  Any thread, one at a time for each `r`. */
#include "query/responsible.h"

/* Makes them FRAME_WRAPPER and chooses again, until there are no more. */
void wrappers_find(struct responsible *r);
