/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What memoir report prints: the same parts as text and as JSON. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/term.h"
#include "model/locations.h"
#include "model/stats.h"
#include "query/view.h"

/* One line of a stack. */
struct report_frame {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;
	const char *module; /* path; NULL: in none */
	uint64_t address;   /* as the ELF file counts; of the call itself 0 */
	bool inlined;
	const char *note; /* "cut here", or NULL */
};

struct report {
	struct model *model;
	const struct view *view; /* what of it is shown */
	struct stack_sums sums;
	struct locations *locations;
	struct report_frame *frames; /* of the stack that was asked for last */
	size_t frame_count, frame_room;
	struct term term;
	uint32_t top; /* stacks in each part */
	bool full;    /* all frames, whole paths */
};

/* A part: which stacks, and what of them is shown. */
struct report_part {
	const char *key, *title;
	enum stack_order order;
	const char *unit, *units; /* what is counted */
	const char *empty;	  /* said when there is nothing */
};

#define REPORT_PARTS 4
extern const struct report_part report_parts[REPORT_PARTS];

struct report_figures {
	uint64_t bytes, count;
};
/* What a part shows of one stack, and of everything that is shown. */
struct report_figures report_of_stack(const struct stack_sum *s, enum stack_order order);
struct report_figures report_of_all(const struct report *r, enum stack_order order);
/* Shares are of bytes, except where calls are counted. */
bool report_counts_calls(enum stack_order order);

/* Fills frames and frame_count: first the call that was intercepted (malloc), then the frames
 * outwards, inlined ones as frames of their own. */
void report_frames(struct report *r, uint32_t stack, unsigned call);

/* A stack as text, and as "frames" of a JSON object. */
void report_stack(struct report *r, struct buf *out, uint32_t stack, unsigned call);
void report_json_frames(struct report *r, struct json *j, uint32_t stack, unsigned call);

void report_text(struct report *r, struct buf *out);
void report_json(struct report *r, struct buf *out);
