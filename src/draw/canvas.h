/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a chart is drawn on: a document in SVG, or the pixels of a PNG.
 *
 * Positions are pixels from the upper left corner, with decimals.  What is drawn later covers what
 * is below it.  Colours are 0xrrggbb.  Any thread. */
#include <stddef.h>
#include <stdint.h>

struct buf;

enum canvas_format { CANVAS_SVG, CANVAS_PNG };
enum canvas_anchor { CANVAS_START, CANVAS_MIDDLE, CANVAS_END };

/* An area between two curves, from left to right. */
struct canvas_area {
	const char *label;
	uint32_t colour;
	size_t count;
	const double *x, *upper, *lower;
};

struct canvas;

/* One kind of canvas: canvas_svg.c, canvas_png.c. */
struct canvas_kind {
	void (*area)(struct canvas *c, const struct canvas_area *a);
	/* A line of the grid: upright or level. */
	void (*line)(struct canvas *c, double x1, double y1, double x2, double y2);
	/* The outline of the plot. */
	void (*frame)(struct canvas *c, double x, double y, double width, double height);
	/* A sheet to write on, through which what is below it can still be seen. */
	void (*sheet)(struct canvas *c, double x, double y, double width, double height);
	void (*patch)(struct canvas *c, double x, double y, double width, double height,
		      uint32_t colour);
	/* At most so many characters of a text of any bytes, on a base line. */
	void (*text)(struct canvas *c, double x, double y, enum canvas_anchor anchor,
		     const char *text, size_t columns);
	/* Adds the document, and frees the canvas. */
	void (*finish)(struct canvas *c, struct buf *out);
};

struct canvas {
	const struct canvas_kind *kind;
	unsigned width, height;
};

/* White. */
struct canvas *canvas_new(enum canvas_format format, unsigned width, unsigned height);
/* The kind that canvas_png.c has. */
struct canvas *canvas_png_new(unsigned width, unsigned height);
