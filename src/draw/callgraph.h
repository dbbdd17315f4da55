/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A graph of calls as one SVG file: a complete picture for any viewer, and in a browser one that is
 * moved and zoomed.
 *
 * Boxes are as large as what a function holds itself, and as dark as what it holds with all that it
 * calls; arrows are as thick as what passes.  layers.h says where they go. */
#include <stddef.h>
#include <stdint.h>

struct sink;

struct callgraph_node {
	const char *name;
	const char *flat;	    /* below the name: "34.0 (88.4%)"; NULL: nothing of its own */
	const char *cum;	    /* below that: "of 38.4 (99.8%)"; NULL: the same as flat */
	double flat_part, cum_part; /* of the whole, -1 … 1 */
};

struct callgraph_edge {
	uint32_t from, to;
	const char *label;   /* at the arrow; NULL: none */
	const char *figures; /* when it is pointed at */
	double part;	     /* of the whole, -1 … 1 */
};

struct callgraph {
	const char *heading, *legend; /* two lines above the picture */
	const struct callgraph_node *nodes;
	size_t node_count;
	const struct callgraph_edge *edges;
	size_t edge_count;
};

/* 0, or the sink's error. */
int callgraph_draw(const struct callgraph *g, struct sink *out);
