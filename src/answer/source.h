/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question source answers. */
#include "answer/question.h"
#include "base/buf_type.h"
#include "query/source_lines.h"

struct answer_source {
	const char *file; /* its path, of the locations' strings */
	struct source_lines lines;
	struct measuring measuring;
	struct source_line all; /* of the whole file; its functions are not */
	struct buf text;	/* of the file; empty: it is not here, or not shown */
	bool there, newer;	/* newer: changed after the recording was made */
	const char *hidden;	/* why it is not shown; NULL: it is not here */
};

extern const struct question question_source;

/* Takes the next line off a text: false at its end. */
bool source_next_line(const char **at, const char *end, const char **ret_line, size_t *ret_size);
