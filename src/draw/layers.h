/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where boxes and arrows of a directed graph go: in rows, callers above what they call.
 *
 * The caller fills in sizes and edges, calls layers_place() once, and reads the places. No
 * two boxes, labels or lines that pass a row overlap: an edge has a place of its own in each row
 * that it passes, and rows of boxes alternate with rows of labels.  Nothing here knows what is
 * drawn. The same graph gets the same places.  One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layers_node {
	double width, height;
	double x, y; /* found: the middle, the upper end */
};

/* A line passes a row at x, from y to the row's lower end. */
struct layers_pass {
	double x, top, bottom;
};

struct layers_edge {
	uint32_t from, to;	    /* nodes; not the same */
	double weight;		    /* 0 … 1: heavy ones are kept straight */
	double label_width, height; /* of its label */
	/* Found.  Passes go down; an edge that is turned leads up, from its last pass to its first.
	 */
	bool turned;
	size_t pass, pass_count; /* the first and the last are the ends at the boxes */
	size_t label;		 /* the pass that has the label at its middle */
};

struct layers {
	struct layers_node *nodes;
	size_t node_count;
	struct layers_edge *edges;
	size_t edge_count;
	double node_gap, line_gap, row_gap; /* between what is side by side, and between rows */

	struct layers_pass *passes; /* found */
	size_t pass_count, pass_room;
	double width, height;
	uint64_t crossings; /* of lines, in this picture */
};

void layers_place(struct layers *l);
/* What was found; nodes and edges are the caller's. */
void layers_release(struct layers *l);
