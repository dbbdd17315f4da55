/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Colours of functions depend on nothing but the name, so that a function looks the same in every
 * file: 0 … FLAME_COLOURS - 1 are warm, what is below 0 is grey, for libc and allocators. */

struct buf;

#define FLAME_HUES 24
#define FLAME_SHADES 5
#define FLAME_COLOURS (FLAME_HUES * FLAME_SHADES)

/* By the function's name and the path of its module. */
int flame_colour_of(const char *name, const char *module);
/* Writes it as "#rrggbb". */
void flame_colour_put(struct buf *out, int colour);
/* "#rrggbb" of a hue in degrees, and of the others from 0 to 1. */
void flame_colour_hsl(struct buf *out, double hue, double saturation, double lightness);
