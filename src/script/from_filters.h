/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Filters of a view as a script's text, to go on from in a console. */
#include <stdbool.h>

struct buf;
struct param;
struct params;

/* Adds a list that has what the filters of a checked request choose: "allocations()" or "maps()"
 * with a method in a line for each.  It is Lua and Rhai, unless a filter is a script itself, in
 * Rhai: that becomes a function of the prologue. */
void script_from_filters(const struct params *p, bool maps, struct buf *ret_prologue,
			 struct buf *out);
/* Is it a filter that says whose frames are, and chooses nothing?  The text has none of those. */
bool script_leaves_out(const struct param *p);
