/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which allocations? The conditions that page, command line, HTTP and scripts share.
 *
 * Two tables.  A field is something that an allocation has, and that an expression compares
 * (`size >= 1k`, `leaked`, `function ~ "^std::"`).  A filter row is a name with a value, as in a
 * URL or an option (size_min=1k, --size-min 1k); what it means is an expression with `$` in the
 * place of the value, so a row can do nothing that an expression cannot.
 *
 * A filter is what was added to it, all of which must hold.  It knows no recording: view.h applies
 * it to one.  The tables may be read by any thread; a filter belongs to one thread at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "query/value.h"

struct buf;

enum field_class {
	FIELD_ROW,	   /* a number that each allocation has: which, enum row_number */
	FIELD_STACK,	   /* a number that its stack has: enum stack_number */
	FIELD_FLAG,	   /* yes or no: enum flag */
	FIELD_FRAME,	   /* a text that a frame of its stack has: enum frame_text */
	FIELD_RESPONSIBLE, /* the name of its responsible frame: FRAME_FUNCTION */
	FIELD_BACKTRACE,
	FIELD_THREAD,
	FIELD_CALL,
	FIELD_ALIVE,  /* alive_at(TIME) */
	FIELD_MAP,    /* the memory maps that it was in */
	FIELD_ORIGIN, /* what its recording is of: enum origin */
};

enum row_number {
#define NUMBER(id, ...) ROW_##id,
#include "query/fields.def"
#undef NUMBER
};

enum stack_number {
	STACK_DEPTH,
	STACK_ALLOCATIONS,
	STACK_LEAKED,
	STACK_INTERVAL,
	STACK_SIZE,
	STACK_LEAKED_SIZE,
	STACK_PEAK_SIZE,
	STACK_PEAK_AT,
};

enum flag {
	FLAG_LEAKED,
	FLAG_CHAIN_LEAKED,
	FLAG_GROUP_LEAKED,
	FLAG_TEMPORARY,
	FLAG_REALLOCATED,
	FLAG_MMAPPED,
	FLAG_MAIN_ARENA,
	FLAG_OTHER_ARENA,
	FLAG_JEMALLOC,
	FLAG_ZEROED,
	FLAG_OTHER_THREAD,
};

/* What tells the recordings of a fleet apart.  One recording has them, too: what it was pushed as
 * (service, release, labels) is what it has itself, or nothing. */
enum origin {
	ORIGIN_SERVICE,
	ORIGIN_HOST,
	ORIGIN_BUILD,
	ORIGIN_RELEASE,
	ORIGIN_COMMAND,
	ORIGIN_LABEL,
	ORIGIN_RECORDING,
	ORIGINS
};

enum frame_text { FRAME_FUNCTION, FRAME_SOURCE, FRAME_MODULE, FRAME_TEXTS };

/* FIELD_BACKTRACE, FIELD_THREAD and FIELD_CALL: of the allocation, or of what freed it. */
enum side { SIDE_ALLOCATION, SIDE_DEALLOCATION };

enum filter_op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_MATCH, OP_NO_MATCH, OP_NONE };

struct filter_field {
	const char *name;
	enum filter_arg type; /* of what it is compared with; ARG_NONE: a flag */
	enum field_class class;
	int which;
	const char *help;
};

struct filter_row {
	const char *name; /* as in HTTP: size_min; as an option: --size-min */
	enum filter_arg type;
	/* What it means: an expression, `$` stands for the value.  For ARG_YES_NO what yes and what
	 * no mean, for ARG_CHOICE "word: expression" each, with semicolons between.  "": it
	 * chooses no allocations, but says whose frames are. */
	const char *meaning;
	const char *help;
	bool same_frame; /* rows of this kind that are given together must hold for one frame */
};

extern const struct filter_field filter_fields[]; /* ends with a row without a name */
extern const struct filter_row filter_rows[];	  /* so does this */

/* NULL if there is none; '-' and '_' are alike. */
const struct filter_field *filter_field_find(const char *name);
const struct filter_row *filter_row_find(const char *name);
/* What is most like `name` among fields and rows, or NULL. */
const char *filter_nearest(const char *name);

struct filter;
struct filter *filter_new(void);
struct filter *filter_free(struct filter *f);
/* Adds a row, and-ed: 0, or -EINVAL with err (-ENOENT: there is no such row). */
int filter_add(struct filter *f, const char *name, const char *value, struct err *err);
/* Adds an expression, and-ed; err->offset is the byte at which it went wrong. */
int filter_parse(struct filter *f, const char *expression, struct err *err);
/* The same of what an expression means when `$` in it stands for `value`. */
int filter_parse_with(struct filter *f, const char *expression, const char *value, struct err *err);
/* What both choose, what either chooses, and what it does not choose: takes them.  What they say
 * of frames (filter_hide, filter_own) the result says. */
struct filter *filter_and(struct filter *a, struct filter *b);
struct filter *filter_or(struct filter *a, struct filter *b);
struct filter *filter_not(struct filter *f);
/* Has it more conditions than an expression may have?  0, or -E2BIG with err. */
int filter_check_size(const struct filter *f, struct err *err);
/* Whose frames are (responsible.h), beyond what the rules say: those that fulfil the expression do
 * not lead a row (hide), or are the program's own; several are or-ed. */
int filter_hide(struct filter *f, const char *expression, struct err *err);
int filter_own(struct filter *f, const char *expression, struct err *err);
/* Adds all that another says, of allocations and of frames. */
int filter_add_all(struct filter *f, const struct filter *other, struct err *err);
bool filter_is_empty(const struct filter *f);
/* The filter as one expression that filter_parse() takes. */
void filter_print(const struct filter *f, struct buf *out);
/* A value as expressions have it: in quotes if need be. */
void filter_print_text(const char *text, struct buf *out);
/* What it says of frames, hidden and own, as two lines of expressions. */
void filter_print_frames(const struct filter *f, struct buf *out);
