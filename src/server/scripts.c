/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* POST /data/{id}/script: a script about a recording, or another file that the server has, run for
 * whoever may read it, and what it saved.
 *
 * It runs in the sandbox, which sees the recording and nothing of this computer, for as long as its
 * client waits (runs.h), within the limits below.  What goes wrong in it is an answer like any
 * other.  docs/scripting.md has the language. */
#include <errno.h>
#include <pthread.h>
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
#include "server/scripts.h"
#include "server/server.h"

#define TIME_NS (60 * 1000000000ull)
#define INSTRUCTIONS 10000000000ull
#define MEMORY (128u << 20)
#define OUTPUT_MAX (8u << 20) /* bytes of the answer */
#define CHOOSING_TIME_NS (10 * 1000000000ull)
#define EXPRESSION_MAX (4u << 20)

/* What a script has put out so far: items of the answer's array, or lines with one each, which are
 * sent as they come. */
struct output {
	struct request *request;
	struct sink *out;
	struct json j;
	bool streams;
	struct buf line;  /* that has no end yet */
	struct buf links; /* of the text that comes next */
	size_t file_bytes, file_count;
};

static void begin_item(struct output *o, const char *kind)
{
	if (o->streams) /* a text of its own */
		o->j = (struct json){ .out = &o->out->buf, .compact = true };
	json_object(&o->j, NULL);
	json_text(&o->j, "kind", kind);
}

static void end_item(struct output *o)
{
	json_end_object(&o->j);
	if (o->streams)
		sink_flush(o->out);
}

static void end_line(struct output *o)
{
	begin_item(o, "println");
	json_bytes(&o->j, "value", o->line.data, o->line.size);
	if (o->links.size)
		json_written(&o->j, "links", o->links.data, o->links.size);
	end_item(o);
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
	if (!size)
		buf_clear(&o->links);
}

/* As show() wrote it: {"columns", "rows"}. */
static void put_table(struct output *o, const char *table, size_t size)
{
	begin_item(o, "table");
	json_written(&o->j, "table", table, size);
	end_item(o);
}

/* What a browser shows: its type, or NULL. */
static const char *picture_type(const char *name)
{
	size_t size = strlen(name);

	if (size > 4 && !strcmp(name + size - 4, ".svg"))
		return "image/svg+xml";
	return size > 4 && !strcmp(name + size - 4, ".png") ? "image/png" : NULL;
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
	begin_item(o, picture_type(name) ? "image" : "file");
	json_text(&o->j, "url", url.data);
	json_text(&o->j, "basename", name);
	json_text(&o->j, "path", path);
	json_text(&o->j, "checksum", hash);
	json_number(&o->j, "size", size);
	end_item(o);
	return 0;
}

static int put_output(void *context, enum script_output kind, const char *name, const void *bytes,
		      size_t size)
{
	struct output *o = context;
	size_t more = kind == SCRIPT_PICTURE ? strlen(name) : size;

	if (o->out->written + o->out->buf.size + o->line.size + o->links.size + more > OUTPUT_MAX)
		return -EFBIG;
	if (kind == SCRIPT_LINKS) {
		buf_clear(&o->links);
		buf_add(&o->links, bytes, size);
		return 0;
	}
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

static bool sends_as_it_comes(struct request *r)
{
	return ask_bool(&r->ask, "stream");
}

static int answer_script(struct request *r, struct sink *out)
{
	bool rhai = !strcmp(ask_text(&r->ask, "language"), "rhai");
	struct output o = { .request = r,
			    .out = out,
			    .streams = ask_bool(&r->ask, "stream"),
			    .j = { .out = &out->buf, .compact = true } };
	struct script_options options = {
		.host = { .put = put_output, .takes_tables = takes_tables(r), .context = &o },
		.limits = { .instructions = INSTRUCTIONS, .time_ns = TIME_NS, .memory = MEMORY },
		.sandbox = true,
		.shows = takes_tables(r),
		.stop = r->stop,
	};
	const char *with = ask_text(&r->ask, "with");
	struct snapshot *other = with ? r->ask.open(&r->ask, "with", with) : NULL;
	uint64_t began = now_ns();
	struct script_end end;
	struct script *s;

	if (with && !other)
		return -EINVAL;
	s = script_new(&options);
	script_add(s, r->ask.snapshot);
	if (other)
		script_add(s, other);
	snapshot_drop(other);
	if (!o.streams) {
		json_object(&o.j, NULL);
		json_array(&o.j, "output");
	}
	script_run(s, rhai ? "script.rhai" : "script", r->body.data ? r->body.data : "",
		   r->body.size, &end);
	if (o.line.size)
		end_line(&o);
	if (o.streams)
		begin_item(&o, "end");
	else
		json_end_array(&o.j);
	write_end(&o.j, &end);
	json_real(&o.j, "elapsed", (double)(now_ns() - began) / 1e9, 6);
	end_item(&o);
	script_free(s);
	buf_release(&o.line);
	buf_release(&o.links);
	return 0;
}

/* Made once: it says what this program is. */
static pthread_once_t description_once = PTHREAD_ONCE_INIT;
static struct buf description;

static void make_description(void)
{
	script_describe(&description);
}

static int answer_description(struct request *r, struct sink *out)
{
	pthread_once(&description_once, make_description);
	buf_add(&out->buf, description.data, description.size);
	return 0;
}

static int answer_script_file(struct request *r, struct sink *out)
{
	if (!script_files_get(r->server->script_files, r->args[1], &out->buf))
		return ask_fail(&r->ask, 404, NULL,
				"there is no such file, or no more: scripts' files are kept for an "
				"hour at most");
	r->type = picture_type(r->args[2]);
	if (r->type) {
		r->foreign = true;
	} else {
		r->file_name = xstrdup(r->args[2]);
	}
	return 0;
}

/* What a script prints while it chooses is for nobody. */
static int put_nowhere(void *context, enum script_output kind, const char *name, const void *bytes,
		       size_t size)
{
	return 0;
}

static int answer_choosing(struct request *r, struct sink *out)
{
	struct script_options options = {
		.host = { .put = put_nowhere },
		.limits = { .instructions = INSTRUCTIONS,
			    .time_ns = CHOOSING_TIME_NS,
			    .memory = MEMORY },
		.sandbox = true,
		.rhai = true,
		.stop = r->stop,
	};
	auto_buf struct buf expression = { 0 };
	struct script *s = script_new(&options);
	struct script_end end;
	unsigned column;
	const char *why;

	script_add(s, r->ask.snapshot);
	script_run_filter(s, "script", r->body.data, r->body.size, &expression, &end);
	script_free(s);
	why = script_end_message(&end, &column);
	if (end.status == SCRIPT_EXITED)
		why = "it ended before it was worth anything";
	if (end.status != SCRIPT_DONE && end.line)
		return ask_fail(&r->ask, 400, "custom_filter", "line %u: %s", end.line, why);
	if (end.status != SCRIPT_DONE)
		return ask_fail(&r->ask, 400, "custom_filter", "%s", why);
	if (expression.size > EXPRESSION_MAX)
		return ask_fail(&r->ask, 400, "custom_filter",
				"what it chooses takes too many words");
	if (expression.size)
		buf_add(&out->buf, expression.data, expression.size);
	return 0;
}

void scripts_choosing(const struct request *of, const struct param *p, struct request *ret)
{
	static const struct route choosing = { .way = ROUTE_RUN, .answer = answer_choosing };

	*ret = (struct request){ .server = of->server,
				 .visitor = of->visitor,
				 .route = &choosing,
				 .ask = { .fault = FAULT_NONE,
					  .snapshot = snapshot_hold(of->ask.snapshot) } };
	buf_text(&ret->body, p->value);
}

static int answer_filters(struct request *r, struct sink *out)
{
	const struct params *p = &r->ask.params;
	auto_buf struct buf prologue = { 0 }, code = { 0 };
	struct json j = { .out = &out->buf, .compact = true };

	script_from_filters(p, r->route->params != NULL, &prologue, &code);
	json_object(&j, NULL);
	json_text(&j, "prologue", prologue.data ? prologue.data : "");
	json_text(&j, "code", code.data);
	json_array(&j, "left_out");
	for (size_t i = 0; i < p->count; i++)
		if (script_leaves_out(&p->rows[i]))
			json_text(&j, NULL, p->rows[i].name);
	json_end_array(&j);
	json_end_object(&j);
	return 0;
}

#define PARAMS_SCRIPT(otherwise)                                                                   \
	{ "language", PARAM_CHOICE, otherwise, "what the script is written in",                    \
	  .values = "lua|rhai" },                                                                  \
		{ "with", PARAM_RECORDING, NULL, "another recording, which is data(2)" },          \
	{                                                                                          \
		"stream", PARAM_BOOL, "false",                                                     \
			"what it puts out is sent as it comes, one JSON object a line"             \
	}

static const struct param_row script_params[] = {
	PARAMS_SCRIPT("lua"),
	{ 0 },
};

static const struct param_row map_params[] = {
	PARAMS_MAP,
	{ 0 },
};

static const struct param_row execute_params[] = {
	PARAMS_SCRIPT("rhai"),
	{ 0 },
};

const struct route routes_scripts[] = {
	{ "/scripting", METHOD_GET, "the words of scripts, and scripts to start from",
	  .way = ROUTE_QUICK, .answer = answer_description },
	{ "/data/{id}/script", METHOD_POST, "runs a script, the body, and answers what it puts out",
	  .any_kind = true, .params = script_params, .way = ROUTE_RUN, .streams = sends_as_it_comes,
	  .answer = answer_script },
	{ "/data/{id}/execute_script", METHOD_POST, "the same, as Bytehound has it",
	  .any_kind = true, .params = execute_params, .way = ROUTE_RUN,
	  .streams = sends_as_it_comes, .answer = answer_script },
	{ "/data/{id}/script_files/{hash}/{name}", METHOD_GET, "a file that a script saved",
	  .any_kind = true, .type = "application/octet-stream", .answer = answer_script_file },
	{ "/data/{id}/allocation_filter_to_script", METHOD_GET, "filters as a script's text",
	  .filters = true, .shows_scripts = true, .answer = answer_filters },
	{ "/data/{id}/map_filter_to_script", METHOD_GET,
	  "filters of memory maps as a script's text", .params = map_params, .filters = true,
	  .shows_scripts = true, .answer = answer_filters },
	{ 0 },
};
