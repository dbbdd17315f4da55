/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What tree, timeline, histogram, fragmentation, leaks and diff have in common: the measure, the
 * moment, the terminal. */
#include <stdbool.h>

#include "base/json.h"
#include "base/term.h"
#include "cli/open.h"
#include "query/measure.h"

struct buf;

/* What --measure, --at and --below were given; NULL: not. */
struct shape_measure {
	const char *measure, *at, *below;
};
#define SHAPE_MEASURE_OPTIONS(target)                                                              \
	VALUE("measure", 'm', "WHAT",                                                              \
	      "leaked, peak, allocated, temporary, alive-at, short-lived or pinned",               \
	      &(target).measure,                                                                   \
	      .words = "leaked, peak, allocated, temporary, alive-at, short-lived or pinned"),     \
		VALUE("at", 0, "TIME", "what was alive then: 1.5s after the start, 50%, a date",   \
		      &(target).at),                                                               \
		VALUE("below", 0, "DURATION", "what lived less than that: 10ms", &(target).below)

/* Checks what can be checked without a recording; false after saying what is wrong. */
bool shape_measure_check(const char *command, const struct shape_measure *s);
/* `otherwise` is the measure if none was asked for. */
struct measuring shape_measuring(const struct model *m, const struct shape_measure *s,
				 enum measure otherwise);
/* "what was never freed", "what was alive 1.50 s after the start". */
void shape_measure_title(struct buf *out, const struct model *m, const struct measuring *how);
/* A line about allocations that were taken out of the recording, and so cannot be shown; nothing if
 * there are none. */
void shape_removed(struct buf *out, const struct term *t, const struct model *m);
/* ▏▎▍▌▋▊▉█: a bar of `share` of `columns`, filled up with blanks. */
void shape_bar(struct buf *out, double share, unsigned columns);
/* A cell of a column that is `part` eighths high, of at most 8; and how many eighths of `rows` rows
 * a value is, where `most` fills them all.  What is not 0 is at least one. */
void shape_cell(struct buf *out, uint64_t part);
uint64_t shape_eighths(uint64_t value, uint64_t most, unsigned rows);
/* One word of a list; `count` if it is none, after saying what there is. */
unsigned shape_word(const char *command, const char *option, const char *text,
		    const char *const *words, unsigned count);
