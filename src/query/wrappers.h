/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions that behave like wrappers around an allocator, whatever they are called: zmalloc of
 * redis, lalloc of vim, whatever a stripped program has.
 *
 * Such a function has the allocator alone below it, at one place or two; many functions call it,
 * or the one that alone does, get most of their memory through it, and want different sizes, or
 * pages to cut up.  A constructor is not one: what it makes is always as large.  What an allocator
 * or a wrapper calls is a part of it.  Any thread, one at a time for each `r`. */
#include "query/responsible.h"

/* Makes them FRAME_WRAPPER and chooses again, until there are no more. */
void wrappers_find(struct responsible *r, const struct stack_traffic *rows, size_t count);
