/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question statistics_snapshot: one snapshot of a file of jemalloc's statistics. */
#include <stdlib.h>
#include <string.h>

#include "answer/question.h"
#include "jemalloc/history.h"

struct answer_statistics_snapshot {
	const struct history_document *document; /* the file's */
};

static int statistics_snapshot_compute(struct ask *a, void *answer)
{
	struct answer_statistics_snapshot *ret = answer;
	const char *number = ask_text(a, "number");

	if (number[strspn(number, "0123456789")])
		return ask_fail(a, 404, NULL, "a snapshot is a number, from 0 on");
	ret->document = history_document(a->snapshot->statistics, strtoull(number, NULL, 10));
	if (!ret->document)
		return ask_fail(a, 404, NULL,
				"snapshot %.40s is not kept; /data/{id}/statistics lists those "
				"that are",
				number);
	return 0;
}

static void statistics_snapshot_json(struct ask *a, const void *answer, struct json *j,
				     struct sink *out)
{
	const struct answer_statistics_snapshot *s = answer;

	/* Without its braces and its end of line. */
	json_written(j, NULL, s->document->json + 1, s->document->size - 3);
}

static const struct param_row params[] = {
	{ "number", PARAM_TEXT, NULL, "which, from 0 on", .required = true },
	{ 0 },
};

const struct question question_statistics_snapshot = {
	.name = "statistics_snapshot",
	.path = "statistics/{number}",
	.help = "one snapshot of jemalloc's statistics",
	.kind = "statistics",
	.params = params,
	.size = sizeof(struct answer_statistics_snapshot),
	.compute = statistics_snapshot_compute,
	.write_members = statistics_snapshot_json,
};
