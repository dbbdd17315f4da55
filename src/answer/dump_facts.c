/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question dump_facts: whose a heap profile is, and how much is in it. */
#include "answer/question.h"
#include "heap/loaded_dump.h"

static int dump_facts_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	struct snapshot *s = a->snapshot;

	json_object(j, NULL);
	json_text(j, "id", s->id);
	json_text(j, "name", s->name);
	json_number(j, "version", s->version);
	json_number(j, "file_size", s->file_size);
	json_number(j, "changed_at", s->changed_at > 0 ? (uint64_t)s->changed_at : 0);
	loaded_dump_write_summary(j, s->heap);
	loaded_dump_write_parts(j, s->heap);
	snapshot_warnings(s, j);
	json_end_object(j);
	return 0;
}

const struct question question_dump_facts = {
	.name = "dump_facts",
	.path = "facts",
	.help = "a heap profile: whose it is, and how much is in it",
	.kind = "heap",
	.write_json = dump_facts_json,
};
