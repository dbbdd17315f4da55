/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What source files weigh, and the lines of one of them.  Any thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "query/measure.h"
#include "query/view.h"

struct source_line {
	uint32_t file, line;	   /* file: a string of locations */
	struct weight total, self; /* self: its frame is the responsible one */
	uint32_t seen;		   /* the last stack that was counted, plus one */
	uint32_t *functions;
	size_t function_count, function_room;
};

struct source_lines {
	struct locations *locations;
	uint32_t only;		   /* the file whose lines are told apart; 0: none */
	struct source_line *files; /* most bytes first */
	struct source_line *rows;  /* of that file, in order */
	size_t file_count, file_room, row_count, row_room;
	struct map file_of, row_of; /* positions while it is made */
	const struct responsible *responsible;
};

void source_lines_init(struct source_lines *l, const struct view *v, const struct measuring *how,
		       uint32_t only);
void source_lines_release(struct source_lines *l);
/* The string of a path that the debug information of any location names, or of the one path that
 * ends with it; 0: none does, or several do. */
uint32_t source_lines_file(struct locations *p, const char *path, bool *ret_several);
