/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question statistics: what is in a file of jemalloc's statistics. */
#include "answer/question.h"
#include "jemalloc/history.h"

static int statistics_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	history_write(j, NULL, a->snapshot->statistics, false);
	return 0;
}

const struct question question_statistics = {
	.name = "statistics",
	.help = "jemalloc's statistics: what is in the file",
	.kind = "statistics",
	.write_json = statistics_json,
};
