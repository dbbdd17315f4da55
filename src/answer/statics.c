/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question statics: what initialisers of static objects allocated and nobody freed, by source
 * line.  Bytehound's two paths for it are server/statics.c. */
#include "answer/statics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/sink.h"

static int statics_compute(struct ask *a, void *answer)
{
	const struct view *v = ask_view(a);

	if (!v)
		return -EINVAL;
	statics_init(answer, v, !strcmp(ask_text(a, "of"), "constants"));
	return 0;
}

static void write_weight(struct json *j, const struct weight *w)
{
	json_number(j, "count", w->count);
	json_number(j, "size", w->bytes);
}

static void statics_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct statics *s = answer;
	struct weight sum;
	char line[16];
	size_t n;

	write_weight(j, &s->total);
	json_object(j, "per_file");
	for (size_t i = 0; i < s->count; i += n) {
		n = statics_of_file(s, i, &sum);
		json_object(j, s->rows[i].file);
		write_weight(j, &sum);
		json_object(j, "per_line");
		for (size_t k = i; k < i + n; k++) {
			snprintf(line, sizeof(line), "%u", s->rows[k].line);
			json_object(j, line);
			write_weight(j, &s->rows[k].weight);
			json_end_object(j);
		}
		json_end_object(j);
		json_end_object(j);
		sink_turn(out);
	}
	json_end_object(j);
}

static void statics_drop(void *answer)
{
	statics_release(answer);
}

static const struct param_row params[] = {
	{ "of", PARAM_CHOICE, "statics",
	  "which initialisers; constants are copies that were split off for constant arguments",
	  .values = "statics|constants" },
	{ 0 },
};

const struct question question_statics = {
	.name = "statics",
	.help = "leaked blocks that initialisers of static objects allocated, by file and line",
	.params = params,
	.filters = true,
	.size = sizeof(struct statics),
	.compute = statics_compute,
	.write_members = statics_json,
	.release = statics_drop,
};
