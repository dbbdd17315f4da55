/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* POST /data/{id}/script: a script about a recording, run for whoever may read it, and what it
 * saved.
 *
 * It runs in the sandbox, which sees the recording and nothing of this computer, for as long as its
 * client waits (runs.h), within the limits below.  What goes wrong in it is an answer like any
 * other.  docs/scripting.md has the language. */
#include <errno.h>
#include <string.h>

#include "answer/maps.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/now.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "client/http.h"
#include "script/from_filters.h"
#include "script/script.h"
#include "server/request.h"
#include "server/script_files.h"
#include "server/server.h"

#define TIME_NS (60 * 1000000000ull)
#define INSTRUCTIONS 10000000000ull
#define MEMORY (128u << 20)
#define OUTPUT_MAX (8u << 20) /* bytes of the answer */

/* What a script has put out so far: items of the answer's array. */
struct output {
	struct request *request;
	struct json j;
	struct buf line; /* that has no end yet */
	size_t file_bytes, file_count;
};

static void end_line(struct output *o)
{
	json_object(&o->j, NULL);
	json_text(&o->j, "kind", "println");
	json_bytes(&o->j, "value", o->line.data, o->line.size);
	json_end_object(&o->j);
	buf_clear(&o->line);
}

static void put_text(struct output *o, const char *text, size_t size)
{
	const char *end;

	while ((end = memchr(text, '\n', size))) {
		buf_add(&o->line, text, (size_t)(end - text));
		end_line(o);
		size -= (size_t)(end - text) + 1;
		text = end + 1;
	}
	buf_add(&o->line, text, size);
}

/* As show() wrote it: {"columns", "rows"}. */
static void put_table(struct output *o, const char *table, size_t size)
{
	json_object(&o->j, NULL);
	json_text(&o->j, "kind", "table");
	json_written(&o->j, "table", table, size);
	json_end_object(&o->j);
}

static bool is_picture(const char *name)
{
	size_t size = strlen(name);

	return size > 4 && !strcmp(name + size - 4, ".svg");
}

static int put_file(struct output *o, const char *path, const void *bytes, size_t size)
{
	const struct snapshot *snapshot = o->request->ask.snapshot;
	const char *name = *path_base(path) ? path_base(path) : "unnamed";
	char hash[SCRIPT_FILES_HASH_SIZE];
	auto_buf struct buf url = { 0 };

	if (size > SCRIPT_FILES_OF_ONE_MAX - o->file_bytes ||
	    o->file_count == SCRIPT_FILES_COUNT_OF_ONE_MAX)
		return -EFBIG;
	o->file_bytes += size;
	o->file_count++;
	script_files_put(o->request->server->script_files, bytes, size, hash);
	buf_printf(&url, "/data/%s/script_files/%s/", snapshot->id, hash);
	http_escape(&url, name);
	json_object(&o->j, NULL);
	json_text(&o->j, "kind", is_picture(name) ? "image" : "file");
	json_text(&o->j, "url", url.data);
	json_text(&o->j, "basename", name);
	json_text(&o->j, "path", path);
	json_text(&o->j, "checksum", hash);
	json_number(&o->j, "size", size);
	json_end_object(&o->j);
	return 0;
}

static int put_output(void *context, enum script_output kind, const char *name, const void *bytes,
		      size_t size)
{
	struct output *o = context;

	if (o->j.out->size + o->line.size + (kind == SCRIPT_PICTURE ? strlen(name) : size) >
	    OUTPUT_MAX)
		return -EFBIG;
	if (kind == SCRIPT_TEXT) {
		put_text(o, bytes, size);
		return 0;
	}
	if (o->line.size)
		end_line(o);
	if (kind == SCRIPT_PICTURE)
		return put_file(o, name, bytes, size);
	put_table(o, bytes, size);
	return 0;
}

static void write_end(struct json *j, const struct script_end *end)
{
	unsigned column;
	const char *message = script_end_message(end, &column);

	if (end->status == SCRIPT_DONE || end->status == SCRIPT_EXITED) {
		json_text(j, "status", "ok");
		return;
	}
	json_text(j, "status", "error");
	json_text(j, "message", message);
	json_number_if(j, "line", end->line, end->line);
	json_number_if(j, "column", column, column);
}

/* Does this path's answer have what Bytehound's clients do not know? */
static bool takes_tables(const struct request *r)
{
	return strcmp(path_base(r->route->path), "execute_script") != 0;
}

static int answer_script(struct request *r, struct sink *out)
{
	bool rhai = !strcmp(ask_text(&r->ask, "language"), "rhai");
	struct output o = { .request = r };
	struct script_options options = {
		.host = { .put = put_output, .takes_tables = takes_tables(r), .context = &o },
		.limits = { .instructions = INSTRUCTIONS, .time_ns = TIME_NS, .memory = MEMORY },
		.sandbox = true,
		.stop = r->stop,
	};
	uint64_t began = now_ns();
	struct script_end end;
	struct script *s = script_new(&options);

	script_add(s, r->ask.snapshot);
	request_json(&o.j, out);
	json_object(&o.j, NULL);
	json_array(&o.j, "output");
	script_run(s, rhai ? "script.rhai" : "script", r->body.data ? r->body.data : "",
		   r->body.size, &end);
	if (o.line.size)
		end_line(&o);
	json_end_array(&o.j);
	write_end(&o.j, &end);
	json_real(&o.j, "elapsed", (double)(now_ns() - began) / 1e9, 6);
	json_end_object(&o.j);
	script_free(s);
	buf_release(&o.line);
	return 0;
}

static int answer_script_file(struct request *r, struct sink *out)
{
	if (!script_files_get(r->server->script_files, r->args[1], &out->buf))
		return ask_fail(&r->ask, 404, NULL,
				"there is no such file, or no more: scripts' files are kept for an "
				"hour at most");
	if (is_picture(r->args[2])) {
		r->type = "image/svg+xml";
		r->foreign = true;
	} else {
		r->file_name = xstrdup(r->args[2]);
	}
	return 0;
}

static int answer_filters(struct request *r, struct sink *out)
{
	const struct params *p = &r->ask.params;
	auto_buf struct buf code = { 0 };
	struct json j;

	script_from_filters(p, r->route->params != NULL, &code);
	request_json(&j, out);
	json_object(&j, NULL);
	json_text(&j, "prologue", "");
	json_text(&j, "code", code.data);
	json_array(&j, "left_out");
	for (size_t i = 0; i < p->count; i++)
		if (script_leaves_out(&p->rows[i]))
			json_text(&j, NULL, p->rows[i].name);
	json_end_array(&j);
	json_end_object(&j);
	return 0;
}

#define PARAM_LANGUAGE(otherwise)                                                                  \
	{                                                                                          \
		"language", PARAM_CHOICE, otherwise, "what the script is written in",              \
			.values = "lua|rhai"                                                       \
	}

static const struct param_row script_params[] = {
	PARAM_LANGUAGE("lua"),
	{ 0 },
};

static const struct param_row map_params[] = {
	PARAMS_MAP,
	{ 0 },
};

static const struct param_row execute_params[] = {
	PARAM_LANGUAGE("rhai"),
	{ 0 },
};

const struct route routes_scripts[] = {
	{ "/data/{id}/script", METHOD_POST, "runs a script, the body, and answers what it puts out",
	  .params = script_params, .way = ROUTE_RUN, .answer = answer_script },
	{ "/data/{id}/execute_script", METHOD_POST, "the same, as Bytehound has it",
	  .params = execute_params, .way = ROUTE_RUN, .answer = answer_script },
	{ "/data/{id}/script_files/{hash}/{name}", METHOD_GET, "a file that a script saved",
	  .type = "application/octet-stream", .answer = answer_script_file },
	{ "/data/{id}/allocation_filter_to_script", METHOD_GET, "filters as a script's text",
	  .filters = true, .answer = answer_filters },
	{ "/data/{id}/map_filter_to_script", METHOD_GET,
	  "filters of memory maps as a script's text", .params = map_params, .filters = true,
	  .answer = answer_filters },
	{ 0 },
};
