/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What info and report both say about a recording: the program, the totals, what was lost. */
#include "base/term.h"
#include "model/model.h"
#include "query/process_memory.h"

struct buf;

/* Lines "  name   value". */
void about_line(struct buf *out, const struct term *t, const char *label, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void about_text_program(struct buf *out, const struct term *t, const struct model *m);
/* `memory`, of the whole process, may be NULL. */
void about_text_totals(struct buf *out, const struct term *t, const struct model *m,
		       const struct process_memory *memory);
/* Nothing is said if nothing was lost. */
void about_text_loss(struct buf *out, const struct term *t, const struct model *m);
/* What a filter chose, and the filter. */
void about_text_filter(struct buf *out, const struct term *t, const struct view *v);
