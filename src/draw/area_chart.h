/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Curves over time, one on top of the other, as one SVG or PNG: what scripts draw.
 *
 * Times of day are below, times since the start above; amounts at the left, what the areas are at
 * the upper left.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct area {
	const char *label;
	const double *values; /* at each moment */
	uint32_t colour;      /* 0xrrggbb */
};

struct area_chart {
	unsigned width, height;
	const struct area *areas; /* the first is at the bottom */
	size_t area_count;
	size_t steps;	   /* values of each, at equal distances of time */
	uint64_t from, to; /* ns since the start */
	uint64_t start;	   /* of the program, ns since 1970; 0: not known */
	bool bytes;	   /* else pieces */
	const char *unit;  /* behind the amounts: "per second"; "" */
	bool legend, axes, grid;
	bool png; /* else SVG */
};

void area_chart_draw(const struct area_chart *c, struct buf *out);
/* A colour for the i-th of some areas. */
uint32_t area_chart_colour(size_t i);
