/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Colours of functions.  See flame_colour.h. */
#include "draw/flame_colour.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "base/path.h"

static bool is_system(const char *module, const char *function)
{
	static const char *const modules[] = { "libc.so",     "libc-",	     "libc.musl",
					       "ld-linux",    "ld-musl",     "libpthread",
					       "libjemalloc", "libtcmalloc", "libmimalloc" };
	static const char *const functions[] = { "operator new",  "malloc",	   "calloc",
						 "realloc",	  "reallocarray",  "memalign",
						 "aligned_alloc", "posix_memalign" };

	return ANY(i, sizeof(modules) / sizeof(modules[0]),
		   !strncmp(module, modules[i], strlen(modules[i]))) ||
	       !strncmp(function, functions[0], strlen(functions[0])) ||
	       ANY(i, sizeof(functions) / sizeof(functions[0]), !strcmp(function, functions[i]));
}

int flame_colour_of(const char *name, const char *module)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	hash ^= hash >> 15;
	return is_system(path_base(module), name) ? -1 - (int)(hash % FLAME_SHADES)
						  : (int)(hash % FLAME_COLOURS);
}

void flame_colour_hsl(struct buf *out, double hue, double saturation, double lightness)
{
	double a = saturation * (lightness < 0.5 ? lightness : 1 - lightness);
	static const int offsets[] = { 0, 8, 4 };

	buf_char(out, '#');
	for (int i = 0; i < 3; i++) {
		double k = fmod(offsets[i] + hue / 30, 12), low = k - 3, high = 9 - k;
		double part = low < high ? low : high;

		part = part > 1 ? 1 : part < -1 ? -1 : part;
		buf_printf(out, "%02x", (unsigned)((lightness - a * part) * 255 + 0.5));
	}
}

void flame_colour_put(struct buf *out, int colour)
{
	if (colour < 0)
		flame_colour_hsl(out, 210, 0.06, 0.78 + 0.03 * (-1 - colour));
	else
		flame_colour_hsl(out, 16 + colour / FLAME_SHADES, 0.84,
				 0.62 + 0.04 * (colour % FLAME_SHADES));
}
