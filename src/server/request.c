/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions.  See request.h. */
#include "server/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/xalloc.h"
#include "query/sort.h"
#include "query/value.h"
#include "server/agent_sessions.h"
#include "server/kind.h"
#include "server/library.h"
#include "server/server.h"

#define PERCENT 1000000.0 /* value.h counts in millionths */

int request_fail(struct request *r, int status, const char *parameter, const char *format, ...)
{
	va_list args;

	r->fault.status = status;
	r->fault.position = -1;
	snprintf(r->fault.parameter, sizeof(r->fault.parameter), "%s", parameter ? parameter : "");
	va_start(args, format);
	vsnprintf(r->fault.text, sizeof(r->fault.text), format, args);
	va_end(args);
	return -EINVAL;
}

int request_fail_err(struct request *r, const char *parameter, const struct err *err)
{
	const char *value = parameter ? request_text(r, parameter) : NULL;

	request_fail(r, 400, parameter, "%s", err->text);
	if (err->offset != ERR_NO_OFFSET && value)
		r->fault.position = (int64_t)param_position(value, err->offset);
	return -EINVAL;
}

static int unknown_parameter(struct request *r, const char *name)
{
	struct nearest near = nearest_to(name);
	const char *best;

	for (const struct param_row *row = r->route->params; row && row->name; row++)
		nearest_consider(&near, row->name);
	for (const struct filter_row *f = filter_rows; r->route->filters && f->name; f++)
		nearest_consider(&near, f->name);
	best = nearest_found(&near);
	if (best)
		return request_fail(r, 400, name,
				    "there is no parameter '%.60s'; did you mean '%s'?", name,
				    best);
	return request_fail(r, 400, name, "there is no parameter '%.60s'; /api lists them", name);
}

static bool may_repeat(const struct param *p)
{
	const struct filter_row *f = p->row ? NULL : filter_row_find(p->name);

	return !p->row && (!f || f->type == ARG_REGEX || f->type == ARG_EXPRESSION);
}

static bool is_expression(const char *name)
{
	return !strcmp(name, "filter") || !strcmp(name, "custom_filter");
}

/* Names as HTTP has them: '-' is not '_' here. */
static bool is_filter(const char *name)
{
	return is_expression(name) || (!strchr(name, '-') && filter_row_find(name));
}

static int add_filter(struct request *r, const struct param *p)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int error;

	if (!r->filter)
		r->filter = filter_new();
	error = is_expression(p->name) ? filter_parse(r->filter, p->value, &err)
				       : filter_add(r->filter, p->name, p->value, &err);
	if (!error)
		return 0;
	request_fail(r, 400, p->name, "%s", err.text);
	if (err.offset != ERR_NO_OFFSET)
		r->fault.position = (int64_t)param_position(p->value, err.offset);
	if (r->route->checks && is_expression(p->name)) {
		r->checked = r->fault;
		r->fault = (struct fault){ .position = -1, .progress = -1 };
		return 0;
	}
	return error;
}

static int take_param(struct request *r, size_t i)
{
	struct param *p = &r->params.rows[i];
	struct err err = { .offset = ERR_NO_OFFSET };

	p->row = route_param(r->route, p->name);
	if (!p->row && !(r->route->filters && is_filter(p->name)))
		return unknown_parameter(r, p->name);
	for (size_t k = 0; k < i; k++)
		if (!strcmp(r->params.rows[k].name, p->name) && !may_repeat(p))
			return request_fail(r, 400, p->name, "'%.60s' is given twice", p->name);
	if (!*p->value)
		return 0;
	if (!p->row)
		return add_filter(r, p);
	if (!param_check(p->row, p->value, &err))
		return 0;
	return request_fail(r, 400, p->name, "%s", err.text);
}

static bool take_params(struct request *r)
{
	for (size_t i = 0; i < r->params.count; i++)
		if (take_param(r, i))
			return false;
	for (const struct param_row *row = r->route->params; row && row->name; row++)
		if (row->required && !request_text(r, row->name)) {
			request_fail(r, 400, row->name, "'%s' is needed: %s", row->name, row->help);
			return false;
		}
	return true;
}

/* The recording of an id: NULL with r->fault. */
static struct snapshot *take_snapshot(struct request *r, const char *parameter, const char *id)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *s;
	double progress = 0;

	switch (library_take(r->server->library, id, &s, &progress, &err)) {
	case LIBRARY_READY:
		return s;
	case LIBRARY_NONE:
		request_fail(r, 404, parameter, "there is no recording '%.40s'; /list has them all",
			     id);
		return NULL;
	case LIBRARY_LOADING:
		request_fail(r, 503, parameter, "the recording is still being read");
		r->fault.progress = progress;
		return NULL;
	case LIBRARY_FAILED:
		request_fail(r, 404, parameter, "the recording cannot be read: %s", err.text);
		return NULL;
	}
	return NULL;
}

/* The agent of a path that has one. */
static bool take_watch(struct request *r)
{
	if (strncmp(r->route->path, "/agents/{agent}/", 16) != 0)
		return true;
	r->agent_session = agent_sessions_hold(r->server->agent_sessions, r->args[0]);
	if (!r->agent_session)
		request_fail(r, 404, NULL, "there is no agent '%.40s'; /agents has them all",
			     r->args[0]);
	return r->agent_session != NULL;
}

bool request_init(struct request *r, struct server *s, unsigned method, const char *address)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	unsigned methods;

	*r = (struct request){ .server = s, .fault = { .position = -1, .progress = -1 } };
	if (params_decode(&r->params, address, &err)) {
		request_fail(r, 400, NULL, "%s", err.text);
		return false;
	}
	r->route = route_find(r->params.path, method, r->args, &methods);
	if (!r->route) {
		request_fail(r, methods ? 405 : 404, NULL,
			     methods ? "not with this method" : "there is no such address");
		r->fault.methods = methods;
		return false;
	}
	if (!take_params(r) || !take_watch(r))
		return false;
	if (!route_has_file(r->route))
		return true;
	r->snapshot = take_snapshot(r, NULL, r->args[0]);
	if (r->snapshot &&
	    strcmp(r->snapshot->kind->name, r->route->kind ? r->route->kind : "recording") != 0)
		request_fail(r, 404, NULL, "'%s' is %s", r->snapshot->name,
			     r->route->kind ? "no file of that kind" : "no recording");
	return !r->fault.status;
}

void request_release(struct request *r)
{
	if (r->held)
		views_give(&r->snapshot->views, r->held);
	filter_free(r->filter);
	snapshot_drop(r->snapshot);
	agent_session_drop(r->agent_session);
	for (unsigned i = 0; i < ROUTE_ARGS; i++)
		free(r->args[i]);
	free(r->file_name);
	params_release(&r->params);
	*r = (struct request){ 0 };
}

bool request_has(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->params.count; i++)
		if (!strcmp(r->params.rows[i].name, name) && *r->params.rows[i].value)
			return true;
	return false;
}

const char *request_text(const struct request *r, const char *name)
{
	const struct param_row *row;

	for (size_t i = 0; i < r->params.count; i++)
		if (!strcmp(r->params.rows[i].name, name) && *r->params.rows[i].value)
			return r->params.rows[i].value;
	row = route_param(r->route, name);
	return row ? row->fallback : NULL;
}

uint32_t request_count(const struct request *r, const char *name)
{
	const char *text = request_text(r, name);
	struct value v;
	uint64_t n;

	if (!text || value_parse(&v, ARG_COUNT, text, NULL))
		return text ? UINT32_MAX : 0;
	n = v.number;
	value_release(&v);
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

bool request_bool(const struct request *r, const char *name)
{
	const char *text = request_text(r, name);

	return text && param_is_word("true|1|yes", text);
}

double request_real(const struct request *r, const char *name)
{
	const char *text = request_text(r, name);

	return text ? strtod(text, NULL) : 0;
}

bool request_by_count(const struct request *r)
{
	return !strcmp(request_text(r, "weight"), "count");
}

bool request_descending(const struct request *r)
{
	bool descending = false;

	sort_order(request_text(r, "order"), &descending);
	return descending;
}

bool request_time_text(const char *text, const struct model *m, uint64_t *ret_ns)
{
	uint64_t start = model_start_ns(m);
	struct value v;

	if (!text || value_parse(&v, ARG_TIME, text, NULL))
		return false;
	if (v.kind == VALUE_PERCENT)
		*ret_ns = (uint64_t)((double)model_runtime_ns(m) * ((double)v.number / PERCENT) /
				     100);
	else if (v.kind == VALUE_UNIX)
		*ret_ns = v.number > start ? v.number - start : 0;
	else
		*ret_ns = v.number;
	value_release(&v);
	return true;
}

bool request_time(const struct request *r, const char *name, const struct model *m,
		  uint64_t *ret_ns)
{
	return request_time_text(request_text(r, name), m, ret_ns);
}

int request_measuring(struct request *r, const struct model *m, struct measuring *ret_measuring)
{
	const char *word = request_text(r, "measure");
	enum measure measure = !strcmp(word, "alive") ? MEASURE_ALIVE_AT : measure_find(word);
	bool asked = request_has(r, "measure"), at = request_has(r, "at");
	bool below = request_has(r, "below");
	uint64_t ns = 0;
	struct value v;

	if (at && !asked)
		measure = MEASURE_ALIVE_AT;
	else if (below && !asked)
		measure = MEASURE_SHORT_LIVED;
	if (at && measure != MEASURE_ALIVE_AT)
		return request_fail(r, 400, "at", "a moment is for measure=alive, not %s", word);
	if (below && measure != MEASURE_SHORT_LIVED)
		return request_fail(r, 400, "below",
				    "a duration is for measure=short_lived, not %s", word);
	if (measure == MEASURE_ALIVE_AT && !at)
		return request_fail(r, 400, "at", "measure=%s needs a moment: at=1.5s", word);
	if (measure == MEASURE_SHORT_LIVED && !below)
		return request_fail(r, 400, "below", "measure=%s needs a duration: below=10ms",
				    word);
	if (at)
		request_time(r, "at", m, &ns);
	if (below && !value_parse(&v, ARG_DURATION, request_text(r, "below"), NULL)) {
		ns = v.number;
		value_release(&v);
	}
	*ret_measuring = measuring_of(m, measure, ns);
	return 0;
}

void request_measuring_json(struct json *j, const struct model *m, const struct measuring *how)
{
	json_text(j, "measure",
		  how->measure == MEASURE_ALIVE_AT ? "alive" : measure_rows[how->measure].name);
	if (how->measure == MEASURE_ALIVE_AT || how->measure == MEASURE_PEAK)
		json_number(j, "at_ns", m->totals.peak_bytes ? model_ns(m, how->at) : 0);
	else
		json_null(j, "at_ns");
}

const struct view *request_view(struct request *r)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct filter *f = r->filter;

	if (r->held)
		return r->held->view;
	r->filter = NULL;
	r->held = views_take(&r->snapshot->views, r->snapshot->model, r->snapshot->places, f, &err);
	if (r->held)
		return r->held->view;
	request_fail(r, 400, request_has(r, "custom_filter") ? "custom_filter" : "filter", "%s",
		     err.text);
	return NULL;
}

/* The same filters once more, which were read before. */
static struct filter *filter_again(const struct request *r)
{
	struct filter *f = filter_new();

	for (size_t i = 0; i < r->params.count; i++) {
		const struct param *p = &r->params.rows[i];

		if (p->row || !*p->value)
			continue;
		if (is_expression(p->name))
			filter_parse(f, p->value, NULL);
		else
			filter_add(f, p->name, p->value, NULL);
	}
	return f;
}

bool request_other(struct request *r, const char *parameter, const char *id,
		   struct other *ret_other)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct other o = { .snapshot = take_snapshot(r, parameter, id) };

	if (!o.snapshot)
		return false;
	if (!o.snapshot->model) {
		request_fail(r, 404, parameter, "'%s' is no recording", o.snapshot->name);
		snapshot_drop(o.snapshot);
		return false;
	}
	o.held = views_take(&o.snapshot->views, o.snapshot->model, o.snapshot->places,
			    filter_again(r), &err);
	if (!o.held) {
		request_fail(r, 400, "filter", "%s", err.text);
		snapshot_drop(o.snapshot);
		return false;
	}
	*ret_other = o;
	return true;
}

struct snapshot *request_file(struct request *r, const char *parameter, const char *id,
			      const char *kind)
{
	struct snapshot *s = take_snapshot(r, parameter, id);

	if (!s || !strcmp(s->kind->name, kind))
		return s;
	request_fail(r, 404, parameter, "'%s' is no file of that kind", s->name);
	return snapshot_drop(s);
}

void request_give(struct other *o)
{
	if (o->held)
		views_give(&o->snapshot->views, o->held);
	snapshot_drop(o->snapshot);
	*o = (struct other){ 0 };
}

static void add_to_key(const struct request *r, struct buf *key, const struct param *p)
{
	struct snapshot *s = NULL;
	double progress;
	struct err err;

	buf_printf(key, "\n%s=%zu:%s", p->name, strlen(p->value), p->value);
	if (p->row &&
	    library_take(r->server->library, p->value, &s, &progress, &err) == LIBRARY_READY)
		buf_printf(key, " %llu", (unsigned long long)s->number);
	snapshot_drop(s);
}

char *request_key(const struct request *r, bool gzip)
{
	struct buf key = { 0 };

	buf_printf(&key, "%d %s", gzip, r->params.path);
	if (r->snapshot)
		buf_printf(&key, " %llu", (unsigned long long)r->snapshot->number);
	for (const struct param_row *row = r->route->params; row && row->name; row++)
		for (size_t i = 0; i < r->params.count; i++) {
			const struct param *p = &r->params.rows[i];

			if (p->row == row && *p->value &&
			    (row->telling || !row->fallback ||
			     strcmp(p->value, row->fallback) != 0))
				add_to_key(r, &key, p);
		}
	for (size_t i = 0; i < r->params.count; i++)
		if (!r->params.rows[i].row && *r->params.rows[i].value)
			add_to_key(r, &key, &r->params.rows[i]);
	return key.data;
}

void request_json(struct json *j, struct sink *out)
{
	json_init(j, &out->buf);
	j->compact = true;
}
