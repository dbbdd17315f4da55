/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Stacks as report, leaks and fragmentation print them. */
#include <stdbool.h>
#include <stdint.h>

#include "base/term.h"
#include "query/view.h"

struct buf;
struct report_frame;

struct report {
	const struct view *view;
	struct report_frame *frames; /* of the stack that was printed last; to be freed */
	size_t frame_count, frame_room;
	struct term term;
	bool full;     /* all frames, whole paths */
	bool followed; /* the recording still grows: all frames are taken for the program's */
};

/* First the call that was intercepted (malloc), then the frames outwards, inlined ones as frames of
 * their own; those that are not the program's are counted only, unless all are wanted. */
void report_stack(struct report *r, struct buf *out, uint32_t stack, unsigned call);
