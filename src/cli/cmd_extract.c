/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir extract: the files that are embedded in a recording. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/open.h"
#include "cli/save.h"
#include "cli/waiting.h"
#include "rewrite/extract.h"

static const char *folder;
static bool list, as_json;

static const struct command_option options[] = {
	VALUE("output", 'o', "DIR", "the folder to write into; made if need be", &folder),
	FLAG("list", 'l', "only show what there is", &list),
	FLAG("json", 0, "show it as JSON", &as_json),
	WAITING_ROWS,
	{ 0 },
};

static void add_line(struct buf *out, const struct model *m, const struct embedded_file *f,
		     const char *path)
{
	buf_printf(out, "%10s  ", size_text(f->total_size));
	buf_printable(out, path, strlen(path));
	if (!model_has_file(m, f))
		buf_text(out,
			 f->key ? "  (missing: it was beside the recording)" : "  (incomplete)");
	buf_char(out, '\n');
}

static void add_json(struct json *j, const struct model *m, const struct embedded_file *f,
		     const char *written)
{
	json_object(j, NULL);
	json_text(j, "path", f->path);
	json_number(j, "size", f->total_size);
	json_bool(j, "complete", model_has_file(m, f));
	json_bool(j, "shared", f->key != NULL);
	if (written)
		json_text(j, "written", written);
	json_end_object(j);
}

static int complain(const struct embedded_file *f, const struct err *err)
{
	auto_buf struct buf line = { 0 };

	buf_text(&line, "memoir: ");
	buf_printable(&line, f->path, strlen(f->path));
	buf_printf(&line, ": %s\n", err->text);
	fputs(line.data, stderr);
	return 1;
}

/* Writes every file; a failure is said, and the others are written all the same. */
static int write_files(const struct model *m, struct buf *out, struct json *j)
{
	auto_buf struct buf name = { 0 }, path = { 0 };
	struct extract x;
	struct err err;
	int status = 0;

	if (extract_open(&x, m, folder, &err))
		return save_error(folder, &err);
	for (size_t i = 0; i < m->tables.file_count; i++) {
		const struct embedded_file *f = &m->tables.files[i];

		if (extract_file(&x, f, &name, &err)) {
			status = complain(f, &err);
			continue;
		}
		buf_clear(&path);
		buf_printf(&path, "%s/%s", folder, name.data);
		if (as_json)
			add_json(j, m, f, path.data);
		else
			add_line(out, m, f, path.data);
	}
	extract_release(&x);
	return status;
}

static int show(const struct model *m)
{
	auto_buf struct buf out = { 0 };
	struct json j = { .out = &out };
	int status = 0;

	if (as_json)
		json_array(&j, NULL);
	if (!list)
		status = write_files(m, &out, &j);
	for (size_t i = 0; list && i < m->tables.file_count; i++) {
		if (as_json)
			add_json(&j, m, &m->tables.files[i], NULL);
		else
			add_line(&out, m, &m->tables.files[i], m->tables.files[i].path);
	}
	if (as_json)
		json_end_array(&j);
	if (buf_flush(&out, 1))
		status = 1;
	return status;
}

static int run_extract(int argc, char **argv)
{
	struct open_options how = { .quiet = true };
	struct model *m;
	int status, shown;

	if (!folder && !list) {
		fprintf(stderr, "memoir extract: where to? -o names the folder "
				"(memoir extract --help says more)\n");
		return 2;
	}
	m = open_recording("extract", argc, argv, &how, &status);
	if (!m)
		return status;
	if (!m->tables.file_count && !as_json)
		fprintf(stderr, "memoir: %s: no files are embedded\n", argv[0]);
	shown = show(m);
	model_free(m);
	return shown ? shown : status;
}

const struct command command_extract = {
	.name = "extract",
	.args = "FILE",
	.help = "write the files that are embedded in a recording",
	.examples = "  memoir extract --list app.dat\n"
		    "  memoir extract -o files app.dat\n",
	.options = options,
	.run = run_extract,
};
