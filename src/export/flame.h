/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The stacks of a view as a tree of functions for flame graphs (draw/flame_tree.h), with names.
 *
 * query/tree.h makes trees of one measure, for reading; here one tree has to serve every measure
 * and both directions, so that a page can hold it once.  Any thread; a tree is its caller's. */
#include <stddef.h>
#include <stdint.h>

#include "draw/flame_tree.h"
#include "export/functions.h"
#include "query/measure.h"
#include "query/view.h"

/* Where a function's frames are: the lowest and the highest line; 0: not known. */
struct flame_lines {
	uint32_t first, last;
};

struct flame {
	const struct view *view;
	struct flame_tree tree;
	struct functions functions;
	struct flame_lines *lines; /* by function */
	size_t lines_room;
};

void flame_init(struct flame *f, const struct view *v, const struct measuring *how,
		unsigned measures);
void flame_release(struct flame *f);

/* The number of a frame's function; a new one for one that is in no node. */
uint32_t flame_function(struct flame *f, const struct stack_frame *frame);
/* What the functions that are known by now are called; "(no stack)" is one of them. */
struct flame_names flame_names(const struct flame *f);
