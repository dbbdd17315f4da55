/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Values of scripts that are ours: classes, their fields and methods.
 *
 * `value.name` is a field, or a method that is bound to its value, so that `list.len()` and
 * `list:len()` are the same.  A name that is neither is an error, with the one that is most like
 * it. */
#include <string.h>

#include "base/buf_text.h"
#include "base/nearest.h"
#include "script/state.h"

const struct script_class *const script_classes[] = {
	&script_data_class,	 &script_list_class,	 &script_row_class,
	&script_map_list_class,	 &script_map_class,	 &script_groups_class,
	&script_backtrace_class, &script_duration_class, NULL,
};

/* A bound method: what is called with its own value first was called with a colon. */
static int call_bound(lua_State *L)
{
	if (!(lua_gettop(L) && lua_rawequal(L, 1, lua_upvalueindex(1)))) {
		lua_pushvalue(L, lua_upvalueindex(1));
		lua_insert(L, 1);
	}
	lua_pushvalue(L, lua_upvalueindex(2));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

void script_bind(lua_State *L)
{
	lua_pushvalue(L, 1);
	lua_insert(L, -2);
	lua_pushcclosure(L, call_bound, 2);
}

/* Upvalues of __index: the class, its fields by name, its methods. */
enum { INDEX_CLASS = 1, INDEX_FIELDS, INDEX_METHODS };

static const struct script_class *class_of(lua_State *L, int index)
{
	const struct script_class *class = NULL;

	if (lua_getmetatable(L, index)) {
		lua_pushliteral(L, "class");
		lua_rawget(L, -2);
		class = lua_touserdata(L, -1);
		lua_pop(L, 2);
	}
	return class;
}

static void add_methods(lua_State *L, int index, struct buf *out)
{
	lua_getmetatable(L, index);
	lua_pushliteral(L, "methods");
	lua_rawget(L, -2);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		if (lua_type(L, -2) == LUA_TSTRING)
			buf_printf(out, "%s\n", lua_tostring(L, -2));
	lua_pop(L, 2);
}

void script_names(lua_State *L, int index, struct buf *out)
{
	const struct script_class *class = lua_isuserdata(L, index) ? class_of(L, index) : NULL;

	if (!class)
		return;
	for (const struct script_field *f = class->fields; f && f->name; f++)
		buf_printf(out, "%s\n", f->name);
	add_methods(L, index, out);
	if (class->names)
		class->names(out);
}

/* Has a value of this class that name? */
static bool has_name(lua_State *L, const struct script_class *class, const char *name)
{
	struct buf *names = script_text(L, TEXT_ONE);
	size_t size = strlen(name);
	bool found;

	for (const struct script_field *f = class->fields; f && f->name; f++)
		if (!strcmp(f->name, name))
			return true;
	lua_rawgetp(L, LUA_REGISTRYINDEX, class);
	lua_getfield(L, -1, "methods");
	lua_pushstring(L, name);
	found = lua_rawget(L, -2) != LUA_TNIL;
	lua_pop(L, 3);
	if (class->names)
		class->names(names);
	for (const char *at = names->data; at && !found && *at; at = strchr(at, '\n') + 1)
		found = !strncmp(at, name, size) && at[size] == '\n';
	return found;
}

/* A name that a value does not have: who has it, or what was meant. */
static int no_such_name(lua_State *L, const struct script_class *class)
{
	const char *name = lua_tostring(L, 2);
	struct nearest near = nearest_to(name);
	struct buf *names;
	char *at, *next;

	for (const struct script_class *const *c = script_classes; *c; c++)
		if (*c != class && has_name(L, *c, name))
			return script_fail(L, "no method %.60s in %s, only in %s", name,
					   class->name, (*c)->name);
	names = script_text(L, TEXT_ONE);

	script_names(L, 1, names);
	for (at = names->data; at && *at; at = next) {
		next = strchr(at, '\n');
		*next++ = '\0';
		nearest_consider(&near, at);
	}
	return script_fail(L, "no method %.60s in %s%s", name, class->name,
			   nearest_hint(&near, "; help(it) lists them"));
}

/* 2.0 is the index 2, as in Lua's own tables. */
static void make_whole(lua_State *L)
{
	int whole;
	lua_Integer i = lua_tointegerx(L, 2, &whole);

	if (!whole)
		script_fail(L, "an index is a whole number, not %s", lua_tostring(L, 2));
	lua_pushinteger(L, i);
	lua_replace(L, 2);
}

static int index_value(lua_State *L)
{
	const struct script_class *class = lua_touserdata(L, lua_upvalueindex(INDEX_CLASS));
	const struct script_field *f;

	if (lua_type(L, 2) == LUA_TNUMBER)
		make_whole(L);
	if (lua_type(L, 2) == LUA_TSTRING) {
		lua_pushvalue(L, 2);
		lua_rawget(L, lua_upvalueindex(INDEX_FIELDS));
		f = lua_touserdata(L, -1);
		if (f) {
			f->get(L, f);
			return 1;
		}
		lua_pushvalue(L, 2);
		if (lua_rawget(L, lua_upvalueindex(INDEX_METHODS)) != LUA_TNIL) {
			script_bind(L);
			return 1;
		}
		lua_settop(L, 2);
	}
	if (class->other && class->other(L))
		return 1;
	if (lua_type(L, 2) == LUA_TSTRING)
		return no_such_name(L, class);
	return script_fail(L, "%s has nothing at a %s", class->name, luaL_typename(L, 2));
}

int script_type_name(lua_State *L)
{
	luaL_checkany(L, 1);
	if (luaL_getmetafield(L, 1, "__name") != LUA_TSTRING)
		lua_pushstring(L, luaL_typename(L, 1));
	return 1;
}

static void make_class(lua_State *L, const struct script_class *class)
{
	lua_newtable(L); /* the metatable */
	lua_pushlightuserdata(L, (void *)class);
	lua_setfield(L, -2, "class");
	lua_pushstring(L, class->key);
	lua_setfield(L, -2, "__name");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	if (class->meta)
		luaL_setfuncs(L, class->meta, 0);
	lua_newtable(L);
	if (class->methods)
		luaL_setfuncs(L, class->methods, 0);
	lua_pushvalue(L, -1);
	lua_setfield(L, -3, "methods");
	lua_pushvalue(L, -1);
	lua_setfield(L, -4, class->key); /* of the table that was on top */
	lua_pushlightuserdata(L, (void *)class);
	lua_newtable(L);
	for (const struct script_field *f = class->fields; f && f->name; f++) {
		lua_pushlightuserdata(L, (void *)f);
		lua_setfield(L, -2, f->name);
	}
	lua_rotate(L, -3, -1); /* class, fields, methods */
	lua_pushcclosure(L, index_value, 3);
	lua_setfield(L, -2, "__index");
	lua_rawsetp(L, LUA_REGISTRYINDEX, class);
}

void script_classes_open(lua_State *L)
{
	for (const struct script_class *const *c = script_classes; *c; c++)
		make_class(L, *c);
}

void *script_new_value(lua_State *L, const struct script_class *class, size_t size)
{
	void *value = lua_newuserdatauv(L, size, 0);

	memset(value, 0, size);
	lua_rawgetp(L, LUA_REGISTRYINDEX, class);
	lua_setmetatable(L, -2);
	return value;
}

void *script_test(lua_State *L, int index, const struct script_class *class)
{
	return lua_type(L, index) == LUA_TUSERDATA && class_of(L, index) == class ? lua_touserdata(
											    L,
											    index)
										  : NULL;
}

void *script_check(lua_State *L, int index, const struct script_class *class)
{
	void *value = script_test(L, index, class);

	if (!value)
		script_fail(L, "%s is needed here, not %s", class->name,
			    lua_isnoneornil(L, index) ? "nothing" : luaL_typename(L, index));
	return value;
}
