/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Letters for pictures of pixels: each is a few strokes, one pixel wide.
 *
 * A stroke is points with a digit each for x (0 to 4) and y (0, the top of capitals, to 8, the base
 * line, and a, the end of g), strokes have a blank between.  One point alone is a dot.  So nothing
 * depends on which fonts a computer has. */
#include <stdint.h>

#define STROKE_ADVANCE 7 /* pixels from one letter to the next */
#define STROKE_ASCENT 8	 /* of the base line */

/* The strokes of a character; of one that there is none for, a box. */
const char *stroke_font(uint32_t character);
