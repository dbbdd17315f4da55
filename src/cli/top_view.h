/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir top shows, as one screen: the figures of a program, the curve of its heap, and the
 * functions that hold memory or one of them with its stacks.  Only draws: cmd_top.c asks. */
#include "answer/top.h"
#include "base/term.h"

struct top_view {
	struct snapshot *snapshot;
	const struct answer_top *top;
	const char *sort;   /* the field that orders */
	const char *filter; /* text that names are to have; "": all */
	const char *open;   /* the function whose stacks are shown; NULL: the table */
	bool typing, help, paused;
	bool ascii; /* the terminal has no other characters */
	uint64_t interval_ns;
	uint32_t selected; /* row */
	uint32_t first;	   /* row, or line of the stacks, that is shown first */
	/* Set by drawing: how many rows or lines there are room for, and how many there are. */
	uint32_t room, lines;
};

/* Lines with a newline between them.  `height` 0: no limit, and no line of keys. */
void top_view_draw(struct buf *out, struct top_view *v, const struct term *t, unsigned width,
		   unsigned height);
/* How many points of the curve a screen of this width shows. */
unsigned top_view_points(unsigned width);
