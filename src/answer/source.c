/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question source: one source file with what its lines weigh.
 *
 * A file is read only if the recording's debug information names it by its whole path, and the door
 * that asks opens it. */
#include "answer/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "answer/sources.h"
#include "base/buf_type.h"
#include "base/read_file.h"
#include "base/xalloc.h"

static void read_source(struct ask *a, const char *path, struct answer_source *ret)
{
	const struct model *m = a->snapshot->model;
	uint64_t end_ns = model_start_ns(m) + model_runtime_ns(m);
	struct stat st;
	auto_close int fd = a->open_source(a, path, &st, &ret->hidden);

	if (fd < 0)
		return;
	ret->there = !read_to_end(fd, &ret->text, SOURCE_MAX) &&
		     !memchr(ret->text.data, 0, ret->text.size);
	ret->newer = ret->there && (uint64_t)st.st_mtime > end_ns / 1000000000;
	if (!ret->there)
		ret->hidden = "it is not text";
}

static int source_compute(struct ask *a, void *answer)
{
	const char *path = ask_text(a, "file");
	struct answer_source *ret = answer;
	const struct view *v;
	uint32_t number;
	bool several;

	if (ask_measuring(a, a->snapshot->model, &ret->measuring) || !(v = ask_view(a)))
		return -EINVAL;
	number = source_lines_file(v->locations, path, &several);
	if (several)
		return ask_fail(a, 404, "file",
				"several files end with '%.200s': which folder? sources lists them",
				path);
	if (!number)
		return ask_fail(a, 404, "file", "the recording names no file '%.200s'", path);
	source_lines_init(&ret->lines, v, &ret->measuring, number);
	for (size_t i = 0; i < ret->lines.file_count; i++)
		if (ret->lines.files[i].file == number)
			ret->all = ret->lines.files[i];
	ret->file = locations_string(v->locations, number);
	read_source(a, ret->file, ret);
	return 0;
}

bool source_next_line(const char **at, const char *end, const char **ret_line, size_t *ret_size)
{
	const char *p = *at, *line;
	size_t n;

	if (!p || p >= end)
		return false;
	line = memchr(p, '\n', (size_t)(end - p));
	n = line ? (size_t)(line - p) : (size_t)(end - p);
	*at = p + n + 1;
	*ret_line = p;
	*ret_size = n && p[n - 1] == '\r' ? n - 1 : n;
	return true;
}

static void write_text(struct json *j, const struct answer_source *s)
{
	const char *at = s->text.data, *line;
	size_t n;

	json_array(j, "lines");
	while (s->there && source_next_line(&at, s->text.data + s->text.size, &line, &n))
		json_bytes(j, NULL, line, n);
	json_end_array(j);
}

static void write_lines(struct json *j, const struct source_lines *l)
{
	JSON_ROWS(j, "weights", i, l->row_count) {
		const struct source_line *row = &l->rows[i];

		json_number(j, "line", row->line);
		sources_weights_json(j, row);
		JSON_EACH(j, "functions", k, row->function_count)
			json_text(j, NULL, locations_string(l->locations, row->functions[k]));
	}
}

static void source_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_source *s = answer;

	json_text(j, "file", s->file);
	ask_measuring_json(j, a->snapshot->model, &s->measuring);
	sources_weights_json(j, &s->all);
	json_bool(j, "on_disk", s->there);
	JSON_MEMBERS(j, s, hidden, newer);
	write_text(j, s);
	write_lines(j, &s->lines);
}

static void source_drop(void *answer)
{
	struct answer_source *s = answer;

	source_lines_release(&s->lines);
	buf_release(&s->text);
}

static const struct param_row params[] = {
	{ "file", PARAM_TEXT, NULL, "as sources and frames name it", .required = true },
	PARAMS_MEASURE("peak"),
	{ 0 },
};

const struct question question_source = {
	.name = "source",
	.help = "one source file with what each line weighs",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_source),
	.compute = source_compute,
	.write_members = source_json,
	.release = source_drop,
};
