/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question complete answers; the shell's completion asks it without a recording too, and
 * then gets everything but names. */
#include "answer/question.h"
#include "query/cursor.h"

struct completion {
	char *text, *help; /* help may be NULL */
	const char *kind;
};

struct answer_complete {
	struct cursor cursor;
	const char *expression;
	struct completion *items;
	size_t count, room;
};

extern const struct question question_complete;
