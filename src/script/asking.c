/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every question of src/answer, asked by a script: data:histogram{of = "size"} is a table,
 * data:ask_json("histogram", {of = "size"}) the bytes that the server sends for it.  A list asks
 * with its filter.  The methods are made from the questions' rows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/kind.h"
#include "answer/question.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "script/list.h"

/* An ask as a value, so that an error frees it. */
struct asking {
	lua_State *L;
	const struct question *question;
	struct ask ask;
	struct sink sink;
	struct buf out; /* all of the answer */
	size_t *memory, counted;
};

static const char asking_key;

static int asking_gc(lua_State *L)
{
	struct asking *g = lua_touserdata(L, 1);

	buf_release(&g->out);
	*g->memory -= g->counted;
	g->counted = 0;
	if (g->sink.write)
		sink_cancel(&g->sink);
	g->sink.write = NULL;
	ask_release(&g->ask);
	return 0;
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct asking *g = context;
	struct script *s = script_of(g->L);
	size_t limit = s->options.limits.memory;

	if (s->options.stop && atomic_load_explicit(s->options.stop, memory_order_relaxed))
		return -EINTR;
	if (limit && s->memory + size > limit)
		return -ENOMEM;
	buf_add(&g->out, bytes, size);
	s->memory += size;
	g->counted += size;
	return 0;
}

/* Another file: one of the script's by the name that data_value() gave, or a path. */
static struct snapshot *open_other(struct ask *a, const char *parameter, const char *name)
{
	struct asking *g = a->door;
	struct script *s = script_of(g->L);
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *found;

	for (size_t i = 0; i < s->data_count; i++)
		if (!strcmp(s->data[i]->name, name))
			return snapshot_hold(s->data[i]->snapshot);
	if (!s->options.host.open) {
		ask_fail(a, 404, parameter, "there are no files here");
		return NULL;
	}
	found = s->options.host.open(s->options.host.context, name, &err);
	if (!found)
		ask_fail(a, 404, parameter, "%s", err.text);
	return found;
}

static int open_no_source(struct ask *a, const char *path, struct stat *ret_st,
			  const char **ret_why)
{
	*ret_why = NULL;
	return -ENOENT;
}

static struct asking *push_asking(lua_State *L, struct script_data *d, const struct question *q)
{
	struct asking *g = lua_newuserdatauv(L, sizeof(*g), 0);
	struct script *s = script_of(L);

	memset(g, 0, sizeof(*g));
	g->L = L;
	g->question = q;
	g->memory = &s->memory;
	g->ask = (struct ask){ .rows = q->params,
			       .filters = q->filters,
			       .filters_repeat = true,
			       .checks = q->checks,
			       .fault = FAULT_NONE,
			       .open = open_other,
			       .open_source = s->options.sandbox || !s->options.host.open_source
						      ? open_no_source
						      : s->options.host.open_source,
			       .door = g };
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &asking_key) == LUA_TNIL) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushcfunction(L, asking_gc);
		lua_setfield(L, -2, "__gc");
		lua_pushvalue(L, -1);
		lua_rawsetp(L, LUA_REGISTRYINDEX, &asking_key);
	}
	lua_setmetatable(L, -2);
	g->ask.snapshot = snapshot_hold(d->snapshot);
	return g;
}

static void add_param(lua_State *L, struct asking *g, const char *name, const char *value)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	if (params_add(&g->ask.params, name, value, &err))
		script_fail(L, "%s: %s", g->question->name, err.text);
}

/* The text of a parameter's value, which is on top. */
static const char *text_of(lua_State *L, const struct asking *g, const char *name)
{
	const struct param_row *row = param_row_find(g->question->params, name);
	const struct filter_row *filter = filter_row_find(name);
	enum filter_arg type = ARG_TEXT;

	if (script_test(L, -1, &script_data_class))
		return script_check_data(L, -1)->name;
	if (lua_isboolean(L, -1) && row)
		return lua_toboolean(L, -1) ? "true" : "false";
	if (row)
		type = row->type == PARAM_TIME	     ? ARG_TIME
		       : row->type == PARAM_DURATION ? ARG_DURATION
						     : ARG_TEXT;
	else if (filter)
		type = filter->type;
	return script_filter_value(L, lua_gettop(L), type, name);
}

/* Adds the value on top, and takes it away; a table gives its name several times. */
static void add_value(lua_State *L, struct asking *g, const char *name)
{
	if (!lua_istable(L, -1)) {
		add_param(L, g, name, text_of(L, g, name));
		lua_pop(L, 1);
		return;
	}
	for (lua_Integer i = 1; lua_geti(L, -1, i) != LUA_TNIL; i++) {
		add_param(L, g, name, text_of(L, g, name));
		lua_pop(L, 1);
	}
	lua_pop(L, 2);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What a table at `index` gives: pairs {name, value} in their order, then names with values, in
 * the order of the alphabet, since tables have none. */
static void add_params(lua_State *L, struct asking *g, int index)
{
	const char *names[PARAMS_MAX];
	size_t count = 0;

	if (lua_isnoneornil(L, index))
		return;
	luaL_checktype(L, index, LUA_TTABLE);
	for (lua_Integer i = 1; lua_geti(L, index, i) == LUA_TTABLE; i++) {
		lua_geti(L, -1, 1);
		lua_geti(L, -2, 2);
		add_value(L, g, luaL_checkstring(L, -2));
		lua_pop(L, 2);
	}
	lua_pop(L, 1);
	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		if (lua_type(L, -2) == LUA_TNUMBER && lua_istable(L, -1))
			continue;
		if (lua_type(L, -2) != LUA_TSTRING)
			script_fail(L, "%s takes names with values: {of = \"size\"}",
				    g->question->name);
		if (count == PARAMS_MAX)
			script_fail(L, "%s: too many parameters", g->question->name);
		names[count++] = lua_tostring(L, -2); /* the table has them */
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++) {
		lua_getfield(L, index, names[i]);
		add_value(L, g, names[i]);
	}
}

static void fail(lua_State *L, struct asking *g, int error)
{
	struct script *s = script_of(L);
	const struct fault *f = &g->ask.fault;

	script_steps(L, 1); /* it may have been stopped */
	if (f->status && *f->parameter)
		script_fail(L, "%s: %s: %s", g->question->name, f->parameter, f->text);
	if (f->status)
		script_fail(L, "%s: %s", g->question->name, f->text);
	if (error == -ENOMEM && s->options.limits.memory)
		script_fail(L, "%s: the answer needs more memory than the limit allows",
			    g->question->name);
	script_fail(L, "%s: %s", g->question->name, strerror(-error));
}

static bool is_of_kind(const struct snapshot *s, const struct question *q)
{
	if (q->kind)
		return s->kind && !strcmp(s->kind->name, q->kind);
	return s->fleet ? q->fleets : s->model != NULL;
}

/* Asks and leaves the answer in g->out. */
static void find_answer(lua_State *L, struct asking *g)
{
	const struct question *q = g->question;
	struct ask *a = &g->ask;
	int error;

	if (!is_of_kind(a->snapshot, q))
		script_fail(L, "%s is not asked about a file such as %s", q->name,
			    a->snapshot->name);
	if (!ask_check(a) || (q->check && q->check(a)))
		fail(L, g, -EINVAL);
	script_steps(L, 1);
	sink_to_function(&g->sink, take_bytes, g, SINK_PLAIN);
	error = question_answer(q, a, &g->sink);
	if (!error)
		error = sink_flush(&g->sink);
	if (error || a->fault.status)
		fail(L, g, error);
}

static const struct question *check_question(lua_State *L, const char *name)
{
	const struct question *q = question_find(name);
	struct nearest near = nearest_to(name);

	for (const struct question *const *each = questions; !q && *each; each++)
		nearest_consider(&near, (*each)->name);
	if (!q)
		script_fail(L, "there is no question '%.60s'%s", name,
			    nearest_hint(&near, "; help('ask') lists them"));
	return q;
}

/* The recording or list at 1 is asked with the parameters at `params`. */
static struct asking *ask_about(lua_State *L, const struct question *q, int params)
{
	struct script_list *l = script_test(L, 1, &script_list_class);
	struct asking *g = push_asking(L, l ? l->data : script_check_data(L, 1), q);
	struct buf *filter;

	add_params(L, g, params);
	if (l && !q->filters)
		script_fail(L, "%s takes no filters: ask the recording, not a list", q->name);
	if (l) {
		filter = script_text(L, TEXT_TWO);
		script_list_expression(L, l, filter);
		if (filter->size)
			add_param(L, g, "filter", filter->data);
	}
	find_answer(L, g);
	return g;
}

/* it:ask_json(question [, parameters]) */
static int ask_json(lua_State *L)
{
	const struct question *q = check_question(L, luaL_checkstring(L, 2));
	struct asking *g;

	lua_settop(L, 3);
	g = ask_about(L, q, 3);
	lua_pushlstring(L, g->out.data ? g->out.data : "", g->out.size);
	return 1;
}

static int ask(lua_State *L)
{
	const struct question *q = check_question(L, luaL_checkstring(L, 2));
	struct asking *g;

	lua_settop(L, 3);
	g = ask_about(L, q, 3);
	script_push_json(L, g->out.data, g->out.size);
	return 1;
}

/* it:histogram{…}: the upvalue is the question. */
static int ask_one(lua_State *L)
{
	struct asking *g;

	lua_settop(L, 2);
	g = ask_about(L, lua_touserdata(L, lua_upvalueindex(1)), 2);
	script_push_json(L, g->out.data, g->out.size);
	return 1;
}

/* Questions that are about lists are their methods too; a method that is there stays. */
static void add_questions(lua_State *L, const struct script_class *class, bool filtered)
{
	static const luaL_Reg functions[] = {
		{ "ask", ask },
		{ "ask_json", ask_json },
		{ NULL, NULL },
	};

	lua_getfield(L, -1, class->key);
	luaL_setfuncs(L, functions, 0);
	for (const struct question *const *q = questions; *q; q++) {
		if (filtered && (!(*q)->filters || (*q)->kind))
			continue;
		if (lua_getfield(L, -1, (*q)->name) == LUA_TNIL) {
			lua_pushlightuserdata(L, (void *)*q);
			lua_pushcclosure(L, ask_one, 1);
			lua_setfield(L, -3, (*q)->name);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

void script_asking_open(lua_State *L)
{
	add_questions(L, &script_data_class, false);
	add_questions(L, &script_list_class, true);
}
