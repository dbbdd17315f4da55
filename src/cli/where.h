/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A stack as part of a table: in one line, or all of it in lines of their own. */
#include "query/view.h"

struct buf;

/* "load p.c:6 ← +2 ← main p.c:9 (+3 inside)": the responsible frame and the program's own outwards
 * from it; what is between them, and inside, is counted. */
void where_line(const struct view *v, uint32_t stack, unsigned frames, struct buf *out);
/* The call and every frame, innermost first, a line each, separated by newlines. */
void where_lines(const struct view *v, uint32_t stack, unsigned call, struct buf *out);
