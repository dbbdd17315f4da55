/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the steps of a layout share: layers.c (rows), layers_order.c (who is beside whom) and
 * layers_x.c (how far to the right).
 *
 * A vertex is a box, or the place of an edge in a row that it passes; a link leads from a vertex to
 * one in the next row that has any. */
#include "draw/layers.h"

#define LAYERS_NONE UINT32_MAX

struct layers_vertex {
	uint32_t row, at; /* `at`: its place in the row */
	uint32_t edge;	  /* LAYERS_NONE: it is a box */
	double width, height;
	double x; /* of the middle */
};

struct layers_link {
	uint32_t upper, lower;
	double strength; /* how much it wants to be straight */
};

/* Links of each vertex: of vertex v those from start[v] on, to start[v + 1]. */
struct layers_links {
	uint32_t *start, *other;
	double *strength;
};

struct layers_row {
	uint32_t *vertices;
	uint32_t count;
	double top, height;
};

struct layers_plan {
	struct layers *l;
	struct layers_vertex *vertices; /* boxes have their nodes' numbers */
	uint32_t count;
	size_t room;
	struct layers_link *links;
	size_t link_count, link_room;
	struct layers_links up, down;
	struct layers_row *rows;
	uint32_t row_count;
};

/* Orders each row so that few links cross. */
void layers_order(struct layers_plan *p);
/* Gives each vertex its x; no two of a row overlap. */
void layers_x(struct layers_plan *p);

/* Things in a row: where each wants to be, how much, and how far from the one before it. */
struct layers_wish {
	double want, weight, gap;
	double x; /* found */
};
/* The places with the least sum of weight × distance², in this order and no closer than `gap`. */
void layers_spread(struct layers_wish *wishes, size_t count);
