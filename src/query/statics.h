/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Blocks that initialisers of static objects allocated, and that are never freed, by source line.
 * Any thread; rows are their caller's, their texts the view's. */
#include "query/measure.h"
#include "query/view.h"

struct static_line {
	const char *file;
	uint32_t line;
	struct weight weight;
};

struct statics {
	struct static_line *rows; /* by file, then by line */
	size_t count, room;
	struct weight total;
};

/* constants: of initialisers that were split off for constant arguments, instead of the others. */
void statics_init(struct statics *ret_statics, const struct view *v, bool constants);
void statics_release(struct statics *s);
/* The rows of one file, from `first` on: how many, and their sum. */
size_t statics_of_file(const struct statics *s, size_t first, struct weight *ret_sum);
