/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a filter is made of, inside this folder: a tree of conditions.
 *
 * expr.c reads it, filter.c puts it together, plan.c turns it into loops over one recording.  A
 * tree belongs to one thread at a time. */
#include "base/pattern.h"
#include "query/filter.h"

struct buf;

#define CONDITION_DEPTH 64  /* of parentheses and `not`s */
#define CONDITION_COUNT 512 /* in one filter */

enum condition_kind {
	CONDITION_TRUE,
	CONDITION_AND,
	CONDITION_OR,
	CONDITION_NOT,	 /* of children[0] */
	CONDITION_FRAME, /* one frame of the stack fulfils children[0], which has frame tests only
			  */
	CONDITION_TEST,
};

struct condition {
	enum condition_kind kind;
	struct condition **children;
	size_t child_count, child_room;
	/* CONDITION_TEST */
	const struct filter_field *field;
	enum filter_op op;
	struct value value;
	struct pattern *pattern; /* OP_MATCH */
	bool from_rows;		 /* CONDITION_FRAME made by filter_add(): more rows may join it */
};

struct filter {
	struct condition *all;	  /* CONDITION_AND */
	unsigned count;		  /* of tests */
	struct condition *hidden; /* frames that are not the user's; NULL: none */
	struct condition *own;	  /* frames that are, whatever rules say; NULL: none */
};

struct condition *condition_new(enum condition_kind kind);
struct condition *condition_free(struct condition *c);
/* Takes `child`. */
void condition_add(struct condition *parent, struct condition *child);
/* Parses an expression; `argument` is what `$` stands for, or NULL.  NULL with err. */
struct condition *expr_parse(const char *text, const char *argument, unsigned *count,
			     struct err *err);
/* Does it begin with a digit, and read as one word without quotes? */
bool expr_is_number_word(const char *text);
/* What a row with a value means; NULL with err. */
struct condition *filter_row_condition(const struct filter_row *row, const char *value,
				       unsigned *count, struct err *err);
void condition_print(const struct condition *c, struct buf *out);
