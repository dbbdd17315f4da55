/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question sources: source files that stacks go through. */
#include "answer/sources.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/sink.h"
#include "base/xalloc.h"

void sources_weights_json(struct json *j, const struct source_line *l)
{
	JSON_MEMBERS(j, &l->total, bytes, count);
	json_number(j, "self_bytes", l->self.bytes);
	json_number(j, "self_count", l->self.count);
}

static bool is_on_disk(struct ask *a, const char *path)
{
	struct stat st;
	const char *why;
	auto_close int fd = a->open_source(a, path, &st, &why);

	return fd >= 0;
}

static int sources_compute(struct ask *a, void *answer)
{
	const char *search = ask_text(a, "search");
	uint32_t skip = ask_count(a, "skip"), most = ask_count(a, "count");
	struct answer_sources *ret = answer;
	const struct view *v;

	if (ask_measuring(a, a->snapshot->model, &ret->measuring) || !(v = ask_view(a)))
		return -EINVAL;
	source_lines_init(&ret->lines, v, &ret->measuring, 0);
	for (size_t i = 0; i < ret->lines.file_count; i++) {
		const struct source_line *file = &ret->lines.files[i];
		const char *path = locations_string(v->locations, file->file);

		if (search && !strcasestr(path, search))
			continue;
		if (ret->total++ < skip || ret->total - skip > most)
			continue;
		*xpush(ret->rows, ret->count, ret->room) =
			(struct listed_source){ file, path, is_on_disk(a, path) };
	}
	return 0;
}

static void sources_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_sources *s = answer;

	ask_measuring_json(j, a->snapshot->model, &s->measuring);
	JSON_EACH(j, "sources", i, s->count) {
		json_object(j, NULL);
		json_text(j, "file", s->rows[i].path);
		json_bool(j, "on_disk", s->rows[i].on_disk);
		sources_weights_json(j, s->rows[i].weights);
		json_end_object(j);
		sink_turn(out);
	}
	json_number(j, "total_count", s->total);
}

static void sources_drop(void *answer)
{
	struct answer_sources *s = answer;

	source_lines_release(&s->lines);
	free(s->rows);
}

static const struct param_row params[] = {
	PARAMS_MEASURE("peak"),
	{ "search", PARAM_TEXT, NULL, "only paths that contain it, in any case" },
	PARAMS_PAGE("200"),
	{ 0 },
};

const struct question question_sources = {
	.name = "sources",
	.help = "source files that stacks go through",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_sources),
	.compute = sources_compute,
	.write_members = sources_json,
	.release = sources_drop,
};
