/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /dumps/{id}/report/{format}: downloads of a heap profile, each row of heap_reports. */
#include "heap/report.h"

#include <string.h>

#include "answer/dump_question.h"
#include "base/nearest.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "server/dumps.h"
#include "server/request.h"

static const struct heap_report *format_of(struct request *r)
{
	const struct heap_report *h = heap_report_find(r->args[1]);
	struct nearest near = nearest_to(r->args[1]);

	if (h)
		return h;
	for (const struct heap_report *const *x = heap_reports; *x; x++)
		nearest_consider(&near, (*x)->name);
	ask_fail(&r->ask, 404, NULL, "there is no report '%.40s'%s", r->args[1],
		 nearest_hint(&near, ""));
	return NULL;
}

/* Always; and what is compressed by itself is not compressed again. */
static bool prepare(struct request *r)
{
	const struct heap_report *h = heap_report_find(r->args[1]);

	r->packed = h && h->gzip;
	return true;
}

static int write_report(struct request *r, const struct heap_report *h, const struct profile *p,
			const struct heap_report_options *o, struct sink *out)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct sink packing;
	int error;

	sink_to_sink(&packing, out, h->gzip ? SINK_GZIP : SINK_PLAIN);
	error = h->write(p, o, &packing, &err);
	if (error)
		sink_cancel(&packing);
	else
		error = sink_finish(&packing, &err);
	if (error && !out->error)
		ask_fail(&r->ask, 400, NULL, "%s", err.text);
	return error;
}

/* "regex" is for reports that take one, and those need it. */
static int read_about(struct request *r, const struct heap_report *h, struct pattern **ret_about)
{
	bool given = ask_has(&r->ask, "regex");

	if (!given && h->argument)
		return ask_fail(&r->ask, 400, "regex", "'%s' is about functions: regex=NAME",
				h->name);
	if (given && !h->argument)
		return ask_fail(&r->ask, 400, "regex", "'%s' takes none", h->name);
	return dump_question_pattern(&r->ask, "regex", ret_about);
}

/* Rows in another form are of the type of the report that is named after it: NULL with
 * r->ask.fault. */
static const struct heap_report *type_of(struct request *r, const struct heap_report *h)
{
	const char *form = ask_text(&r->ask, "form");

	if (!strcmp(form, "text"))
		return h;
	if (h->has_forms)
		return heap_report_find(form);
	ask_fail(&r->ask, 400, "form", "'%s' cannot be had as %s", h->name, form);
	return NULL;
}

/* One that is made of a whole dump leaves nothing out. */
static int check_whole(struct request *r, const struct heap_report *h)
{
	static const char *const parts[] = { "focus",	"ignore", "retain",
					     "exclude", "thread", "base" };

	for (size_t i = 0; h->whole && i < sizeof(parts) / sizeof(*parts); i++)
		if (ask_has(&r->ask, parts[i]))
			return ask_fail(&r->ask, 400, parts[i],
					"'%s' is of all that is in one dump", h->name);
	return 0;
}

static int answer_dump_reports(struct request *r, struct sink *out)
{
	const struct heap_report *h = format_of(r), *type = h ? type_of(r, h) : NULL;
	const char *program = loaded_dump_program(r->ask.snapshot->heap);
	const char *title = *program ? path_base(program) : r->ask.snapshot->name;
	struct heap_report_options o = { .by_cum = ask_bool(&r->ask, "cum"),
					 .show_bytes = ask_bool(&r->ask, "show_bytes"),
					 .rows = ask_count(&r->ask, "count"),
					 .title = title,
					 .node_fraction = ask_real(&r->ask, "node_share") / 100,
					 .edge_fraction = ask_real(&r->ask, "edge_share") / 100,
					 .node_count = ask_count(&r->ask, "node_count"),
					 .max_degree = ask_count(&r->ask, "max_degree") };
	struct pattern *about = NULL;
	auto_buf struct buf whole = { 0 };
	struct dump_question q;
	struct profile p;
	int error;

	if (!type)
		return -1;
	o.form = type->form;
	error = dump_question_init(&q, &r->ask);
	if (!error)
		error = read_about(r, h, &about);
	if (!error)
		error = check_whole(r, h);
	if (!error && h->whole)
		error = dumps_bytes(r, &whole);
	if (!error) {
		o.measure = q.measure;
		o.about = about;
		o.base = q.base ? q.base->name : NULL;
		o.dump = whole.data;
		o.dump_size = whole.size;
		q.options.drop_negative = ask_bool(&r->ask, "drop_negative");
		q.options.by_thread = q.options.whole = h->by_thread;
		error = dump_question_ask(&q, &r->ask, r->ask.snapshot->heap,
					  q.base ? q.base->heap : NULL, &p);
		r->type = type->mime;
		r->foreign = strstr(type->mime, "svg") || strstr(type->mime, "html");
		/* What a browser can show, it shows; links of the page say when it is to be saved.
		 */
		if (!r->foreign && strncmp(type->mime, "text/plain", 10) != 0)
			r->file_name = xasprintf("%s.%s", title, type->extension);
		if (!error)
			error = write_report(r, h, &p, &o, out);
		profile_release(&p);
	}
	pattern_free(about);
	dump_question_release(&q);
	return error;
}

static const struct param_row params[] = {
	PARAMS_DUMP,
	{ "drop_negative", PARAM_BOOL, "false", "of a difference, only what grew" },
	{ "cum", PARAM_BOOL, "false", "order by what a function and all it calls hold" },
	{ "show_bytes", PARAM_BOOL, "false", "bytes instead of megabytes" },
	{ "count", PARAM_COUNT, "all", "rows at most" },
	{ "form", PARAM_CHOICE, "text", "of reports that are rows: how they are written",
	  .values = "text|json|csv" },
	{ "regex", PARAM_TEXT, NULL, "of reports about functions: which" },
	{ "node_count", PARAM_COUNT, "80", "functions of a graph at most" },
	{ "node_share", PARAM_REAL, "0.5", "of a graph: percent that a function is at least" },
	{ "edge_share", PARAM_REAL, "0.1", "of a graph: percent that a call is at least" },
	{ "max_degree", PARAM_COUNT, "8", "of a graph: calls of one function at most" },
	{ 0 },
};

const struct route routes_dump_reports[] = {
	{ "/dumps/{id}/report/{format}", METHOD_GET, "a report of a heap profile", .type = "*/*",
	  .kind = "heap", .params = params, .streams = prepare, .answer = answer_dump_reports },
	{ "/dumps/{id}/report/{format}/{name}", METHOD_GET, "the same; the name is for the browser",
	  .type = "*/*", .kind = "heap", .params = params, .streams = prepare,
	  .answer = answer_dump_reports },
	{ 0 },
};
