/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings, and the other files that questions are about, in scripts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/kind.h"
#include "base/xalloc.h"
#include "script/list.h"

struct script_data *script_add_data(struct script *s, struct snapshot *snapshot)
{
	struct script_data *d = xcalloc(1, sizeof(*d));

	d->script = s;
	d->snapshot = snapshot;
	s->data = xgrow(s->data, s->data_count, &s->data_room, sizeof(*s->data));
	s->data[s->data_count++] = d;
	d->name = xasprintf("recording number %zu of this script", s->data_count);
	return d;
}

void script_push_data(lua_State *L, struct script_data *d)
{
	struct script_data **value = script_new_value(L, &script_data_class, sizeof(*value));

	*value = d;
}

struct script_data *script_check_data(lua_State *L, int index)
{
	return *(struct script_data **)script_check(L, index, &script_data_class);
}

/* A fleet's model is an empty one. */
bool script_is_recording(const struct script_data *d)
{
	return d->snapshot->model && !d->snapshot->fleet;
}

static struct script_data *check_recording(lua_State *L)
{
	struct script_data *d = script_check_data(L, 1);

	if (!script_is_recording(d))
		script_fail(L, "%s is no recording", d->snapshot->name);
	return d;
}

/* data([number]): of the files that the script was given, or loaded. */
static int global_data(lua_State *L)
{
	struct script *s = script_of(L);
	lua_Integer i = luaL_optinteger(L, 1, 1);

	if (!s->data_count)
		return script_fail(
			L, "no recording was given: memoir script … -d FILE, or load(path)");
	if (i < 1 || (size_t)i > s->data_count)
		return script_fail(L, "there is no recording number %" PRId64, (int64_t)i);
	script_push_data(L, s->data[i - 1]);
	return 1;
}

/* load(path) */
static int global_load_file(lua_State *L)
{
	struct script *s = script_of(L);
	const char *path = luaL_checkstring(L, 1);
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *snapshot;

	if (!s->options.host.open)
		return script_fail(L, "there is no load() here");
	snapshot = s->options.host.open(s->options.host.context, path, &err);
	if (!snapshot)
		return script_fail(L, "%s", *err.text ? err.text : "it could not be loaded");
	script_push_data(L, script_add_data(s, snapshot));
	return 1;
}

static int data_allocations(lua_State *L)
{
	struct script_list *l = script_push_list(L, check_recording(L));

	l->choice = choice_new(CHOICE_ALL, NULL, NULL, &script_of(L)->memory);
	return 1;
}

static int data_runtime(lua_State *L)
{
	script_push_duration(L, (int64_t)model_runtime_ns(check_recording(L)->snapshot->model));
	return 1;
}

/* started(): seconds since 1970, or nil where that is not known. */
static int data_started(lua_State *L)
{
	uint64_t ns = model_start_ns(check_recording(L)->snapshot->model);

	if (!ns)
		return 0;
	lua_pushnumber(L, (double)ns / 1e9);
	return 1;
}

/* info(key): a text of the recording's head. */
static int data_info(lua_State *L)
{
	struct script_data *d = check_recording(L);
	const char *key = luaL_checkstring(L, 2), *text = model_info(d->snapshot->model, key);

	if (!text)
		return 0;
	lua_pushlstring(L, text, model_info_size(d->snapshot->model, key));
	return 1;
}

static int data_eq(lua_State *L)
{
	struct script_data **a = script_test(L, 1, &script_data_class);
	struct script_data **b = script_test(L, 2, &script_data_class);

	lua_pushboolean(L, a && b && *a == *b);
	return 1;
}

static int data_tostring(lua_State *L)
{
	lua_pushfstring(L, "data of %s", script_check_data(L, 1)->snapshot->name);
	return 1;
}

static void name_field(lua_State *L, const struct script_field *f)
{
	const struct snapshot *s = (*(struct script_data **)lua_touserdata(L, 1))->snapshot;

	lua_pushstring(L, f->which ? s->id : s->name);
}

static void kind_field(lua_State *L, const struct script_field *f)
{
	const struct snapshot *s = (*(struct script_data **)lua_touserdata(L, 1))->snapshot;

	lua_pushstring(L, s->kind ? s->kind->name : s->model ? "recording" : "file");
}

static const struct script_field fields[] = {
	{ "name", name_field, 0, "of the file, without its folder" },
	{ "id", name_field, 1, "32 digits that tell it from others" },
	{ "kind", kind_field, 0, "recording, heap, statistics, processes or fleet" },
	{ 0 },
};

static const luaL_Reg meta[] = {
	{ "__eq", data_eq },
	{ "__tostring", data_tostring },
	{ NULL, NULL },
};

static const luaL_Reg methods[] = {
	{ "allocations", data_allocations },
	{ "runtime", data_runtime },
	{ "started", data_started },
	{ "info", data_info },
	{ NULL, NULL },
};

const struct script_class script_data_class = {
	.name = "a recording",
	.key = "data",
	.meta = meta,
	.methods = methods,
	.fields = fields,
};

void script_data_open(lua_State *L)
{
	lua_register(L, "data", global_data);
	lua_pushcfunction(L, global_load_file);
	lua_setfield(L, -2, "load"); /* of the library: it tells paths from chunks */
}
