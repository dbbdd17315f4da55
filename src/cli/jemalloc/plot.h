/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A row of numbers drawn in a terminal. */
#include <stdbool.h>
#include <stddef.h>

#include "base/term.h"

struct buf;

#define PLOT_NOTHING (-1e300) /* no value here */

/* A title, and below it bars on a scale from the least to the most (from 0 where nothing is below
 * it), as wide as the terminal; numbers that share a column are averaged. */
void plot(struct buf *out, const struct term *t, const char *title, const double *values,
	  size_t count, bool bytes);
/* The same numbers in one line without a title, at most `columns` wide. */
void plot_line(struct buf *out, const double *values, size_t count, size_t columns);
