/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question dump_facts: whose a heap profile is, and how much is in it. */
#include "answer/question.h"
#include "heap/loaded_dump.h"

static void dump_facts_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	struct snapshot *s = a->snapshot;

	JSON_MEMBERS(j, s, id, name, version, file_size);
	json_number(j, "changed_at", s->changed_at > 0 ? (uint64_t)s->changed_at : 0);
	loaded_dump_write_summary(j, s->heap);
	loaded_dump_write_parts(j, s->heap);
	snapshot_warnings(s, j);
}

const struct question question_dump_facts = {
	.name = "dump_facts",
	.path = "facts",
	.help = "a heap profile: whose it is, and how much is in it",
	.kind = "heap",
	.write_members = dump_facts_json,
};
