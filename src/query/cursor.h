/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where in an expression the cursor is, and so what may stand there.  Knows no recording. */
#include <stddef.h>

#include "query/filter.h"

enum place_kind {
	PLACE_CONDITION, /* a field, a filter, not, a parenthesis */
	PLACE_OPERATOR,	 /* behind a field */
	PLACE_VALUE,	 /* behind an operator */
	PLACE_JOIN,	 /* behind a condition: and, or, a closing parenthesis */
};

struct cursor {
	enum place_kind kind;
	const struct filter_field *field; /* PLACE_OPERATOR, PLACE_VALUE; NULL: none */
	bool matches;			  /* PLACE_VALUE: behind ~ or !~ */
	unsigned depth;			  /* of parentheses */
	size_t from, to;		  /* bytes that an answer takes the place of */
	size_t typed; /* where what was typed of a value begins: behind the quote */
	char quote;   /* that the value begins with; 0: none */
};

/* `at` is a byte of `text`, or its length. */
void cursor_find(struct cursor *c, const char *text, size_t at);
