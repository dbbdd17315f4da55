/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A stack as part of a table: in one line, or all of it in lines of their own. */
#include "query/view.h"

struct buf;

/* "outer p.c:6 ← main p.c:9": the innermost frames that are no wrappers around an allocator. */
void where_line(const struct view *v, uint32_t stack, unsigned frames, struct buf *out);
/* The call and every frame, innermost first, a line each, separated by newlines. */
void where_lines(const struct view *v, uint32_t stack, unsigned call, struct buf *out);
