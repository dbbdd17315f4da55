/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A flame graph as one SVG file: a complete picture for any viewer, and in a browser one that zooms
 * and searches. */
#include <stdbool.h>
#include <stdint.h>

#include "draw/flame_tree.h"

struct sink;

/* Of a difference: what was added, less what went. */
struct flame_change {
	int64_t bytes, count;
};

struct flame_picture {
	const struct flame_tree *tree; /* of which the first measure is drawn */
	const struct flame_names *names;
	bool by_count;			  /* blocks instead of bytes make a box wide */
	const char *heading, *subheading; /* two lines above the picture */
	/* NULL, or by node, once summed: then the tree's amounts are what changed in either
	 * direction, and colours say in which. */
	const struct flame_change *changes;
	void (*progress)(void *context, uint64_t done, uint64_t total); /* may be NULL */
	void *progress_context;
};

/* 0, or the sink's error. */
int flame_draw(const struct flame_picture *p, struct sink *out);
