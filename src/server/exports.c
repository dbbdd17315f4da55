/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/export/{format}: downloads in every format of the table. */
#include <string.h>

#include "base/nearest.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "server/request.h"

/* Names that scripts of other tools know. */
static const struct {
	const char *old, *name;
} old_names[] = { { "flamegraph.pl", "collapsed" } };

static const struct exporter *find_exporter(const char *name)
{
	for (size_t i = 0; i < sizeof(old_names) / sizeof(*old_names); i++)
		if (!strcmp(name, old_names[i].old))
			return exporter_find(old_names[i].name);
	return exporter_find(name);
}

static const struct exporter *format_of(struct request *r)
{
	const struct exporter *e = find_exporter(r->args[1]);
	struct nearest near = nearest_to(r->args[1]);

	if (e)
		return e;
	for (const struct exporter *const *x = exporters; *x; x++)
		nearest_consider(&near, (*x)->name);
	ask_fail(&r->ask, 404, NULL, "there is no format '%.40s'%s", r->args[1],
		 nearest_hint(&near, ""));
	return NULL;
}

/* Always; and what is compressed by itself is not compressed again. */
static bool prepare(struct request *r)
{
	const struct exporter *e = find_exporter(r->args[1]);

	r->packed = e && e->gzip;
	return true;
}

static int answer_exports(struct request *r, struct sink *out)
{
	const struct exporter *e = format_of(r);
	const char *program = model_info(r->ask.snapshot->model, "executable");
	const char *title = program ? path_base(program) : "program";
	struct export x = { .by_count = ask_by_count(&r->ask),
			    .groups = ask_bool(&r->ask, "groups"),
			    .stack_table = !strcmp(ask_text(&r->ask, "stacks"), "table"),
			    .title = title };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct sink packing;
	bool shown;
	int error;

	if (!e)
		return -1;
	if (ask_measuring(&r->ask, r->ask.snapshot->model, &x.measuring) ||
	    !(x.view = ask_view(&r->ask)))
		return -1;
	shown = strstr(e->mime, "svg") || strstr(e->mime, "html");
	r->type = e->mime;
	r->foreign = shown;
	if (!shown)
		r->file_name = xasprintf("%s.%s", title, e->extension);
	sink_to_sink(&packing, out, e->gzip ? SINK_GZIP : SINK_PLAIN);
	error = e->write(&x, &packing, &err);
	if (error)
		sink_cancel(&packing);
	else
		error = sink_finish(&packing, &err);
	if (error && !out->error)
		ask_fail(&r->ask, 500, NULL, "%s", err.text);
	return error;
}

static const struct param_row params[] = {
	PARAMS_MEASURE("allocated"),
	PARAM_WEIGHT,
	{ "groups", PARAM_BOOL, "false", "json, csv: a row for each stack" },
	{ "stacks", PARAM_CHOICE, "whole", "json: in every row, or in a table of their own",
	  "whole|table" },
	{ 0 },
};

const struct route routes_exports[] = {
	{ "/data/{id}/export/{format}", METHOD_GET, "a download in a format of exports",
	  .type = "*/*", .params = params, .filters = true, .streams = prepare,
	  .answer = answer_exports },
	{ "/data/{id}/export/{format}/{name}", METHOD_GET, "the same; the name is for the browser",
	  .type = "*/*", .params = params, .filters = true, .streams = prepare,
	  .answer = answer_exports },
	{ 0 },
};
