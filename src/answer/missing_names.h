/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question missing_names answers: the modules whose functions have no names, how much that
 * matters, and what would give them names.  Any thread. */
#include "answer/question.h"

struct missing_module {
	uint32_t module;
	uint32_t stacks;      /* that show a frame of it without a name */
	uint64_t bytes, peak; /* of those: allocated, and alive at the peak */
	double share;	      /* of all, the larger of both: 0 to 1 */
	bool matters;
	char *package; /* with its debug symbols; NULL: no package has the file */
};

struct missing_names {
	struct locations *locations;
	struct missing_module *rows; /* what matters most first */
	size_t count, matter;	     /* the first so many matter */
	bool asked;		     /* the debuginfod servers were */
	const char *problem;	     /* why they cannot be; NULL: they can */
};

/* Looks for all of them; packages of those that matter only. */
void missing_names_init(struct missing_names *n, const struct view *v);
void missing_names_release(struct missing_names *n);
/* "Names are missing in libx.so (40 % of the memory) and 2 more: install libx-dbgsym", without the
 * end of a sentence; nothing where that does not matter. */
void missing_names_line(const struct missing_names *n, struct buf *out);
extern const struct question question_missing_names;
