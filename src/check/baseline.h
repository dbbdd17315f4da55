/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What runs of one build came to: of each measure the lowest and the highest, in all, by function
 *and by stack.
 *
 * As a file it is text, a line for each measure, function and stack, sorted, with names only:
 *small, and made to be committed and read in a diff.  A function or stack has a line if it leaks,
 *or if it has a thousandth of another measure.
 *
 *	# memoir baseline 1 …
 *	runs 5
 *	peak 1048576..1051648
 *	…
 *	function leaks=2 leaked=64..128 peak=4096: open_session
 *	stack leaks=2 leaked=64..128 peak=4096: open_session < serve < main
 *
 * One thread at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strings.h"
#include "check/measures.h"
#include "check/run_figures.h"

struct range {
	uint64_t low, high;
};

struct baseline_row {
	uint32_t key;	     /* a text */
	uint32_t file, line; /* of the responsible frame; not in a file */
	uint64_t heaviest;
	struct range values[CHECK_MEASURES];
};

struct baseline_table {
	struct map row_of;
	struct baseline_row *rows;
	uint32_t count;
	size_t room;
};

struct baseline {
	struct strings texts;
	struct baseline_table tables[FIGURE_KINDS];
	uint32_t runs;
	struct range totals[CHECK_MEASURES];
};

void baseline_init(struct baseline *b);
void baseline_release(struct baseline *b);
/* One run more. */
void baseline_add(struct baseline *b, const struct run_figures *f);
/* The row of a key, or NULL. */
const struct baseline_row *baseline_find(struct baseline *b, enum figure_kind kind,
					 const char *key);
/* What a function or stack may have that has no row, because it had too little. */
uint64_t baseline_threshold(const struct baseline *b, enum check_measure m);

/* Does a file begin like one? */
bool baseline_is_text(const char *text, size_t size);
/* Into an empty one: 0, or -EBADMSG with err, which has the line. */
int baseline_read(struct baseline *b, const char *text, size_t size, struct err *err);
void baseline_write(const struct baseline *b, struct buf *out);
