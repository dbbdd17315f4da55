/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A stack as a list of frames with names: what most formats are made of.
 *
 * Inlined functions are frames of their own.  The intercepted call itself (malloc) is not among
 * them.  Any thread; the frames are their caller's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/view.h"

struct buf;

struct stack_frame {
	uint32_t location; /* see locations.h */
	uint32_t index;	   /* of the frame in its location; 0 is the innermost inlined one */
	uint32_t function, file, line, column;
	uint32_t module;
	uint64_t address;
	bool inlined;
};

/* Reused from one stack to the next; a zeroed one is empty. */
struct stack_frames {
	struct stack_frame *rows; /* innermost first */
	size_t count, room;
};

/* Fills it; none for a stack that is not known. */
void stack_frames_of(struct stack_frames *s, const struct view *v, uint32_t stack);
/* The same, but ends where there are enough; the last location is whole. */
void stack_frames_inner(struct stack_frames *s, const struct view *v, uint32_t stack,
			size_t enough);
void stack_frames_release(struct stack_frames *s);

/* Its function, or "0x1234" where that is not known.  UTF-8. */
void stack_frame_name(const struct view *v, const struct stack_frame *f, struct buf *out);
/* As Valgrind's tools write it: "0x1234: main (a.c:12)", "0x1234: f (in /lib/x.so)".  One line. */
void stack_frame_label(const struct view *v, const struct stack_frame *f, struct buf *out);
/* What was added from `start` on becomes part of one line: control characters become blanks. */
void text_in_line(struct buf *out, size_t start);
