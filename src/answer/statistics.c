/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question statistics: what is in a file of jemalloc's statistics. */
#include "answer/question.h"
#include "jemalloc/history.h"

static void statistics_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	history_write(j, a->snapshot->statistics, false);
}

const struct question question_statistics = {
	.name = "statistics",
	.help = "jemalloc's statistics: what is in the file",
	.kind = "statistics",
	.write_members = statistics_json,
};
