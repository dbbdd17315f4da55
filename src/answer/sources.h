/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question sources answers. */
#include "answer/question.h"
#include "query/source_lines.h"

struct answer_sources {
	struct source_lines lines;
	struct measuring measuring;
	struct listed_source {
		const struct source_line *weights;
		const char *path;
		bool on_disk; /* and may be read */
	} * rows;	      /* the page that was asked for */
	size_t count, room;
	uint32_t total;
};

extern const struct question question_sources;

/* "bytes", "count", "self_bytes", "self_count" */
void sources_weights_json(struct json *j, const struct source_line *l);
