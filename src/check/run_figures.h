/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What one run of a program came to, by measure: in all, by function and by stack; of a recording,
 * or of a folder of them.
 *
 * Names are all that is kept, so that builds and machines can be compared.  A function is the
 * responsible one (query/responsible.h), a stack that and those that called it, at most
 * FIGURE_FRAMES in all: "open_session < serve < main".  What has no name is its module's, and
 * recursion counts as one frame: no addresses, no lines, no frames of allocators and wrappers.
 *
 * Of several processes allocations and leaks add up, and the peak is that of the one that had most.
 * One thread at a time; nothing in here refers to a recording. */
#include <stdint.h>

#include "base/map.h"
#include "base/strings.h"
#include "check/measures.h"
#include "query/view.h"

#define FIGURE_FRAMES 4
#define FIGURE_REACH 64 /* frames in which they are looked for: recursion may be deeper */
#define FIGURE_BETWEEN " < "

struct suppressions;

enum figure_kind { BY_RESPONSIBLE, BY_STACK, FIGURE_KINDS };

struct run_figure {
	uint32_t key;	     /* a text */
	uint32_t file, line; /* a text; of the responsible frame that has most; 0 */
	uint64_t heaviest;   /* bytes of it */
	uint64_t values[CHECK_MEASURES];
};

struct run_table {
	struct map row_of; /* by key */
	struct run_figure *rows;
	uint32_t count;
	size_t room;
};

struct run_figures {
	struct strings texts;
	struct run_table tables[FIGURE_KINDS];
	uint64_t totals[CHECK_MEASURES];
	uint64_t suppressed_bytes, suppressed_blocks;
};

void run_figures_init(struct run_figures *f);
void run_figures_release(struct run_figures *f);
/* One process more. */
void run_figures_add(struct run_figures *f, const struct view *v, const struct suppressions *s);
