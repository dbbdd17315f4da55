/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Asked questions.  See ask.h. */
#include "answer/ask.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/kind_fleet.h"
#include "base/nearest.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/view.h"
#include "query/sort.h"
#include "query/user_rules.h"
#include "query/value.h"
#include "query/view_source.h"

#define PERCENT 1000000.0 /* value.h counts in millionths */

int ask_fail(struct ask *a, int status, const char *parameter, const char *format, ...)
{
	va_list args;

	a->fault.status = status;
	a->fault.position = -1;
	snprintf(a->fault.parameter, sizeof(a->fault.parameter), "%s", parameter ? parameter : "");
	va_start(args, format);
	vsnprintf(a->fault.text, sizeof(a->fault.text), format, args);
	va_end(args);
	return -EINVAL;
}

int ask_fail_err(struct ask *a, const char *parameter, const struct err *err)
{
	const char *value = parameter ? ask_text(a, parameter) : NULL;

	ask_fail(a, 400, parameter, "%s", err->text);
	if (err->offset != ERR_NO_OFFSET && value)
		a->fault.position = (int64_t)param_position(value, err->offset);
	return -EINVAL;
}

static int unknown_parameter(struct ask *a, const char *name)
{
	struct nearest near = nearest_to(name);

	for (const struct param_row *row = a->rows; row && row->name; row++)
		nearest_consider(&near, row->name);
	for (const struct filter_row *f = filter_rows; a->filters && f->name; f++)
		nearest_consider(&near, f->name);
	return ask_fail(a, 400, name, "there is no parameter '%.60s'%s", name,
			nearest_hint(&near, "; /api lists them"));
}

static bool may_repeat(const struct ask *a, const struct param *p)
{
	const struct filter_row *f = p->row ? NULL : filter_row_find(p->name);

	return !p->row &&
	       (a->filters_repeat || !f || f->type == ARG_REGEX || f->type == ARG_EXPRESSION);
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

/* It is no expression, and speaks of what only scripts have. */
static bool is_script(const struct param *p)
{
	struct filter *f;
	bool ret;

	if (strcmp(p->name, "custom_filter") != 0 ||
	    !(strstr(p->value, "allocations(") || strstr(p->value, "data(")))
		return false;
	f = filter_new();
	ret = filter_parse(f, p->value, NULL);
	filter_free(f);
	return ret;
}

struct param *ask_script(struct ask *a)
{
	return FIND(it, a->params.rows, a->params.count, it->script);
}

static int add_filter(struct ask *a, struct param *p)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int error;

	p->script = a->takes_scripts && is_script(p);
	if (p->script)
		return 0;
	if (!a->filter)
		a->filter = filter_new();
	error = is_expression(p->name) ? filter_parse(a->filter, p->value, &err)
				       : filter_add(a->filter, p->name, p->value, &err);
	if (!error)
		return 0;
	ask_fail(a, 400, p->name, "%s", err.text);
	if (err.offset != ERR_NO_OFFSET)
		a->fault.position = (int64_t)param_position(p->value, err.offset);
	if (a->checks && is_expression(p->name)) {
		a->checked = a->fault;
		a->fault = FAULT_NONE;
		return 0;
	}
	return error;
}

int ask_script_is(struct ask *a, struct param *p, const char *expression)
{
	free(p->value);
	p->value = xstrdup(expression);
	p->script = false;
	return *p->value ? add_filter(a, p) : 0;
}

static int check_param(struct ask *a, size_t i)
{
	struct param *p = &a->params.rows[i];
	struct err err = { .offset = ERR_NO_OFFSET };

	p->row = param_row_find(a->rows, p->name);
	if (!p->row && !(a->filters && is_filter(p->name)))
		return unknown_parameter(a, p->name);
	for (size_t k = 0; k < i; k++)
		if (!strcmp(a->params.rows[k].name, p->name) && !may_repeat(a, p))
			return ask_fail(a, 400, p->name, "'%.60s' is given twice", p->name);
	if (!*p->value)
		return 0;
	if (!p->row)
		return add_filter(a, p);
	if (!param_check(p->row, p->value, &err))
		return 0;
	return ask_fail(a, 400, p->name, "%s", err.text);
}

bool ask_check(struct ask *a)
{
	for (size_t i = 0; i < a->params.count; i++)
		if (check_param(a, i))
			return false;
	for (const struct param_row *row = a->rows; row && row->name; row++)
		if (row->required && !ask_text(a, row->name)) {
			ask_fail(a, 400, row->name, "'%s' is needed: %s", row->name, row->help);
			return false;
		}
	return true;
}

bool ask_has(const struct ask *a, const char *name)
{
	return ANY(i, a->params.count,
		   !strcmp(a->params.rows[i].name, name) && *a->params.rows[i].value);
}

const char *ask_text(const struct ask *a, const char *name)
{
	const struct param_row *row;

	for (size_t i = 0; i < a->params.count; i++)
		if (!strcmp(a->params.rows[i].name, name) && *a->params.rows[i].value)
			return a->params.rows[i].value;
	row = param_row_find(a->rows, name);
	return row ? row->fallback : NULL;
}

uint32_t ask_count(const struct ask *a, const char *name)
{
	const char *text = ask_text(a, name);
	struct value v;
	uint64_t n;

	if (!text || value_parse(&v, ARG_COUNT, text, NULL))
		return text ? UINT32_MAX : 0;
	n = v.number;
	value_release(&v);
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

bool ask_bool(const struct ask *a, const char *name)
{
	const char *text = ask_text(a, name);

	return text && param_is_word("true|1|yes", text);
}

double ask_real(const struct ask *a, const char *name)
{
	const char *text = ask_text(a, name);

	return text ? strtod(text, NULL) : 0;
}

unsigned ask_choice(const struct ask *a, const char *name, const char *const *words, unsigned count)
{
	const char *text = ask_text(a, name);
	unsigned i = 0;

	while (i < count && (!text || strcmp(text, words[i]) != 0))
		i++;
	return i;
}

bool ask_by_count(const struct ask *a)
{
	return !strcmp(ask_text(a, "weight"), "count");
}

bool ask_descending(const struct ask *a)
{
	bool descending = false;

	sort_order(ask_text(a, "order"), &descending);
	return descending;
}

bool ask_time_text(const char *text, const struct model *m, uint64_t *ret_ns)
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

bool ask_time(const struct ask *a, const char *name, const struct model *m, uint64_t *ret_ns)
{
	return ask_time_text(ask_text(a, name), m, ret_ns);
}

uint64_t ask_moment(const struct ask *a, uint64_t *ret_ns)
{
	const struct model *m = a->snapshot->model;
	uint64_t ns, at = ask_time(a, "at", m, &ns) ? measure_stamp(m, ns) : m->totals.peak_at;

	*ret_ns = m->totals.peak_bytes || at ? model_ns(m, at) : 0;
	return at;
}

int ask_measuring(struct ask *a, const struct model *m, struct measuring *ret_measuring)
{
	const char *word = ask_text(a, "measure");
	enum measure measure = !strcmp(word, "alive") ? MEASURE_ALIVE_AT : measure_find(word);
	bool asked = ask_has(a, "measure"), at = ask_has(a, "at");
	bool below = ask_has(a, "below");
	uint64_t ns = 0;
	struct value v;

	if (at && !asked)
		measure = MEASURE_ALIVE_AT;
	else if (below && !asked)
		measure = MEASURE_SHORT_LIVED;
	if (at && measure != MEASURE_ALIVE_AT && measure != MEASURE_PINNED)
		return ask_fail(a, 400, "at", "a moment is for measure=alive or pinned, not %s",
				word);
	if (below && measure != MEASURE_SHORT_LIVED)
		return ask_fail(a, 400, "below", "a duration is for measure=short_lived, not %s",
				word);
	if (measure == MEASURE_ALIVE_AT && !at)
		return ask_fail(a, 400, "at", "measure=%s needs a moment: at=1.5s", word);
	if (measure == MEASURE_SHORT_LIVED && !below)
		return ask_fail(a, 400, "below", "measure=%s needs a duration: below=10ms", word);
	if (at)
		ask_time(a, "at", m, &ns);
	if (below && !value_parse(&v, ARG_DURATION, ask_text(a, "below"), NULL)) {
		ns = v.number;
		value_release(&v);
	}
	*ret_measuring = measuring_of(m, measure, ns);
	return 0;
}

void ask_measuring_json(struct json *j, const struct model *m, const struct measuring *how)
{
	json_text(j, "measure",
		  how->measure == MEASURE_ALIVE_AT ? "alive" : measure_rows[how->measure].name);
	json_number_if(j, "at_ns", measuring_has_moment(how),
		       m->totals.peak_bytes ? model_ns(m, how->at) : 0);
}

/* Takes the filter: NULL with err. */
static struct held_view *take_view(struct snapshot *s, struct filter *f, struct err *err)
{
	struct view *v;

	if (!s->fleet)
		return views_take(&s->views, s->model, s->locations, f, err);
	v = fleet_view_new(&s->fleet->fleet, &s->fleet->facts, f, err);
	if (v)
		return views_hold(v, f);
	filter_free(f);
	return NULL;
}

int ask_check_source(struct ask *a, const struct held_view *h)
{
	const struct view_source *s = h && h->view ? h->view->source : NULL;

	if (!s || !s->error)
		return 0;
	return ask_fail(a, s->error == -EINVAL ? 400 : 502, NULL, "%s", s->err.text);
}

int ask_narrow(struct ask *a, const char *parameter)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *text = ask_text(a, parameter);

	if (!a->filter)
		a->filter = filter_new();
	return text && filter_parse(a->filter, text, &err) ? ask_fail_err(a, parameter, &err) : 0;
}

const struct view *ask_view(struct ask *a)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct filter *f = a->filter;

	if (a->held)
		return a->held->view;
	err.text[0] = '\0';
	frame_rules_free(user_rules_read(&err));
	if (err.text[0]) {
		ask_fail(a, 500, NULL, "%s", err.text);
		return NULL;
	}
	a->filter = NULL;
	a->held = take_view(a->snapshot, f, &err);
	if (a->held)
		return a->held->view;
	ask_fail(a, 400, ask_has(a, "custom_filter") ? "custom_filter" : "filter", "%s", err.text);
	return NULL;
}

/* The same filters once more, which were read before. */
static struct filter *filter_again(const struct ask *a)
{
	struct filter *f = filter_new();

	for (size_t i = 0; i < a->params.count; i++) {
		const struct param *p = &a->params.rows[i];

		if (p->row || !*p->value)
			continue;
		if (is_expression(p->name))
			filter_parse(f, p->value, NULL);
		else
			filter_add(f, p->name, p->value, NULL);
	}
	return f;
}

bool ask_other_view(struct ask *a, struct snapshot *s, struct other *ret_other)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct held_view *held = take_view(s, filter_again(a), &err);

	if (!held) {
		ask_fail(a, 400, "filter", "%s", err.text);
		return false;
	}
	*ret_other = (struct other){ snapshot_hold(s), held };
	return true;
}

static bool ask_other_file(struct ask *a, const char *parameter, const char *name,
			   struct other *ret_other)
{
	struct snapshot *s = name ? a->open(a, parameter, name) : snapshot_hold(a->snapshot);
	bool ok = false;

	if (s && !s->model)
		ask_fail(a, 404, parameter, "'%s' is not a recording", s->name);
	else if (s)
		ok = ask_other_view(a, s, ret_other);
	snapshot_drop(s);
	return ok;
}

/* The same fleet, narrowed by another expression. */
static bool ask_other_part(struct ask *a, const char *parameter, const char *expression,
			   struct other *ret_other)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct filter *f = filter_again(a);
	struct held_view *held;

	if (expression && filter_parse(f, expression, &err)) {
		filter_free(f);
		ask_fail_err(a, parameter, &err);
		return false;
	}
	err.offset = ERR_NO_OFFSET;
	held = take_view(a->snapshot, f, &err);
	if (!held) {
		ask_fail(a, 400, parameter, "%s", err.text);
		return false;
	}
	*ret_other = (struct other){ snapshot_hold(a->snapshot), held };
	return true;
}

bool ask_other(struct ask *a, const char *parameter, const char *name, struct other *ret_other)
{
	if (a->snapshot->fleet)
		return ask_other_part(a, parameter, name, ret_other);
	return ask_other_file(a, parameter, name, ret_other);
}

void ask_give(struct other *o)
{
	if (o->held)
		views_give(&o->snapshot->views, o->held);
	snapshot_drop(o->snapshot);
	*o = (struct other){ 0 };
}

void ask_release(struct ask *a)
{
	if (a->held)
		views_give(&a->snapshot->views, a->held);
	filter_free(a->filter);
	snapshot_drop(a->snapshot);
	params_release(&a->params);
	*a = (struct ask){ 0 };
}
