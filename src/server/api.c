/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /api: the tables of routes, filters, fields, measures and formats as JSON. */
#include "server/api.h"

#include <string.h>

#include "answer/question.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "heap/report.h"
#include "query/filter.h"
#include "query/frame_kind.h"
#include "query/group.h"
#include "query/sort.h"
#include "server/request.h"
#include "server/server.h"

static const char *const arg_types[ARG_COUNT_OF] = {
	[ARG_NONE] = "flag",	     [ARG_SIZE] = "size",
	[ARG_COUNT] = "count",	     [ARG_COUNT_OR_PERCENT] = "count_or_percent",
	[ARG_DURATION] = "duration", [ARG_DURATION_OR_PERCENT] = "duration_or_percent",
	[ARG_TIME] = "time",	     [ARG_ADDRESS] = "address",
	[ARG_NUMBER] = "number",     [ARG_REGEX] = "regex",
	[ARG_TEXT] = "text",	     [ARG_IDS] = "ids",
	[ARG_THREAD] = "thread",     [ARG_YES_NO] = "yes_no",
	[ARG_CHOICE] = "choice",     [ARG_EXPRESSION] = "expression",
};

/* Words with | between, as an array. */
static void list_words(struct json *j, const char *key, const char *words, const char *between)
{
	json_array(j, key);
	while (*words) {
		size_t n = strcspn(words, between);

		json_bytes(j, NULL, words, n);
		words += n;
		words += strspn(words, between);
	}
	json_end_array(j);
}

static void list_params(struct json *j, const struct route *r)
{
	json_array(j, "parameters");
	for (const struct param_row *p = r->params; p && p->name; p++) {
		auto_free char *in_path = xasprintf("{%s}", p->name);

		if (r->question && r->question->path && strstr(r->question->path, in_path))
			continue;
		json_object(j, NULL);
		json_text(j, "name", p->name);
		json_text(j, "type", param_type_name(p->type));
		if (p->values)
			list_words(j, "values", p->values, "|");
		if (p->fallback)
			json_text(j, "default", p->fallback);
		if (p->max)
			json_number(j, "max", p->max);
		JSON_MEMBERS(j, p, help, required);
		json_end_object(j);
	}
	json_end_array(j);
}

static void list_routes(struct json *j)
{
	json_array(j, "endpoints");
	for (const struct route *const *table = routes; *table; table++)
		for (const struct route *r = *table; r->path; r++) {
			json_object(j, NULL);
			json_text(j, "path", r->path);
			if (r->question)
				json_text(j, "question", r->question->name);
			json_array(j, "methods");
			if (r->methods & METHOD_GET)
				json_text(j, NULL, "GET");
			if (r->methods & METHOD_POST)
				json_text(j, NULL, "POST");
			if (r->methods & METHOD_DELETE)
				json_text(j, NULL, "DELETE");
			json_end_array(j);
			json_text(j, "help", r->help);
			json_text(j, "type", r->type ? r->type : "application/json");
			if (route_has_file(r))
				json_text(j, "kind",
					  r->any_kind ? "any"
					  : r->kind   ? r->kind
						      : "recording");
			json_bool(j, "filters", r->filters);
			list_params(j, r);
			json_end_object(j);
		}
	json_end_array(j);
}

/* The words of "word: expression; word: expression". */
static void list_choices(struct json *j, const char *meaning)
{
	json_array(j, "values");
	for (const char *p = meaning; p; p = strchr(p, ';')) {
		p += strspn(p, "; ");
		json_bytes(j, NULL, p, strcspn(p, ":"));
	}
	json_end_array(j);
}

static void list_filters(struct json *j)
{
	JSON_ROWS_WHILE(j, "filters", i, filter_rows[i].name) {
		const struct filter_row *f = &filter_rows[i];

		json_text(j, "name", f->name);
		json_text(j, "type", arg_types[f->type]);
		json_text(j, "argument", value_name(f->type));
		json_text(j, "help", f->help);
		json_text(j, "syntax", value_help(f->type));
		json_text(j, "meaning", f->meaning);
		if (f->type == ARG_CHOICE)
			list_choices(j, f->meaning);
		if (f->type == ARG_YES_NO)
			list_words(j, "values", "yes|no", "|");
		json_bool(j, "repeatable", f->type == ARG_REGEX || f->type == ARG_EXPRESSION);
	}
}

static const char *field_operators(const struct filter_field *f)
{
	switch (f->class) {
	case FIELD_ROW:
	case FIELD_STACK:
		return "=|!=|<|<=|>|>=";
	case FIELD_FRAME:
	case FIELD_RESPONSIBLE:
	case FIELD_THREAD:
	case FIELD_CALL:
	case FIELD_ORIGIN:
		return "=|!=|~|!~";
	case FIELD_BACKTRACE:
	case FIELD_MAP:
		return "=|!=";
	case FIELD_FLAG:
	case FIELD_ALIVE:
		break;
	}
	return "";
}

static void list_fields(struct json *j)
{
	JSON_ROWS_WHILE(j, "fields", i, filter_fields[i].name) {
		const struct filter_field *f = &filter_fields[i];

		json_text(j, "name", f->name);
		json_text(j, "type", arg_types[f->type]);
		json_bool(j, "flag", f->class == FIELD_FLAG);
		json_bool(j, "frame", f->class == FIELD_FRAME);
		json_bool(j, "function", f->class == FIELD_ALIVE);
		json_text(j, "help", f->help);
		json_text(j, "syntax", value_help(f->type));
		list_words(j, "operators", field_operators(f), "|");
	}
}

static void list_operators(struct json *j)
{
	static const char *const rows[][2] = {
		{ "and", "both hold (also &&)" },
		{ "or", "at least one holds (also ||)" },
		{ "not", "does not hold (also !)" },
		{ "(", "what is inside first" },
		{ "frame(", "one frame of the stack fulfils all that is inside" },
		{ "=", "is the same" },
		{ "!=", "is not the same" },
		{ "<", "is less" },
		{ "<=", "is less or the same" },
		{ ">", "is more" },
		{ ">=", "is more or the same" },
		{ "~", "a regular expression matches" },
		{ "!~", "a regular expression matches nowhere" },
	};

	JSON_ROWS(j, "operators", i, sizeof(rows) / sizeof(*rows)) {
		json_text(j, "text", rows[i][0]);
		json_text(j, "help", rows[i][1]);
	}
}

static void list_exports(struct json *j)
{
	JSON_ROWS_WHILE(j, "exports", i, exporters[i]) {
		const struct exporter *e = exporters[i];

		json_text(j, "name", e->name);
		json_text(j, "extension", e->extension);
		json_text(j, "type", e->mime);
		json_text(j, "viewer", e->viewer);
		json_text(j, "help", e->help);
		json_bool(j, "one_measure", e->one_measure);
		json_bool(j, "groups", !strcmp(e->name, "json") || !strcmp(e->name, "csv"));
	}
}

static void list_heap_reports(struct json *j)
{
	JSON_ROWS_WHILE(j, "heap_reports", i, heap_reports[i]) {
		const struct heap_report *h = heap_reports[i];

		json_text(j, "name", h->name);
		json_text(j, "extension", h->extension);
		json_text(j, "type", h->mime);
		json_text(j, "help", h->help);
		json_bool(j, "regex", h->argument != NULL);
		json_bool(j, "whole", h->whole);
		json_bool(j, "forms", h->has_forms);
	}
}

static void list_measures(struct json *j)
{
	JSON_ROWS(j, "measures", i, MEASURE_COUNT) {
		const struct measure_row *m = &measure_rows[i];

		json_text(j, "name", i == MEASURE_ALIVE_AT ? "alive" : m->name);
		JSON_MEMBERS(j, m, title, help, needs_time, needs_duration);
	}
}

static void list_orders(struct json *j)
{
	JSON_ROWS_WHILE(j, "groups", i, group_keys[i].name)
		JSON_MEMBERS(j, &group_keys[i], name, help);
	json_array(j, "sorts");
	for (const char *word = sort_words; *word; word += strspn(word, "|")) {
		auto_free char *name = xmemdup0(word, strcspn(word, "|"));
		const struct filter_field *f = sort_field(name);

		json_object(j, NULL);
		json_text(j, "name", name);
		json_text(j, "help", f->help);
		json_text(j, "type", arg_types[f->type]);
		json_text(j, "member", sort_member(f));
		json_end_object(j);
		word += strlen(name);
	}
	json_end_array(j);
	JSON_EACH(j, "group_sorts", i, NUMBERS)
		json_text(j, NULL, group_numbers[i]);
}

/* Whose a frame may be, what leads a row last. */
static void list_frame_kinds(struct json *j)
{
	JSON_EACH(j, "frame_kinds", i, FRAME_KINDS)
		json_text(j, NULL, frame_kind_names[i]);
}

void api_write(struct buf *out, uint64_t upload_limit)
{
	struct json j = { .out = out, .compact = true };

	json_object(&j, NULL);
	json_text(&j, "version", MEMOIR_VERSION);
	list_routes(&j);
	list_filters(&j);
	list_fields(&j);
	list_operators(&j);
	list_exports(&j);
	list_heap_reports(&j);
	list_measures(&j);
	list_orders(&j);
	list_frame_kinds(&j);
	json_number(&j, "upload_limit", upload_limit);
	json_end_object(&j);
}

static int answer_api(struct request *r, struct sink *out)
{
	api_write(&out->buf, r->server->options.upload_limit);
	return 0;
}

const struct route routes_api[] = {
	{ "/api", METHOD_GET, "all endpoints, parameters, filters, fields and formats",
	  .way = ROUTE_QUICK, .answer = answer_api },
	{ 0 },
};
