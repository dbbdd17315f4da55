/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What keeps a script from running, or growing, for ever.
 *
 * Lua calls a hook every thousand instructions, C functions that run long call script_steps(); both
 * look at the stop flag, at the clock and at the count.  A state that has been ended raises its
 * error again out of everything that would catch it (limits_rethrow), and its finalizers are
 * refused, since Lua runs those without a hook. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/now.h"
#include "script/state.h"

#define HOOK_INSTRUCTIONS 1000

void *script_allocate(void *context, void *p, size_t old_size, size_t new_size)
{
	struct script *s = context;
	size_t limit = s->options.limits.memory;
	void *moved;

	if (!p)
		old_size = 0; /* it is a type then */
	if (!new_size) {
		free(p);
		s->memory -= old_size;
		return NULL;
	}
	if (limit && new_size > old_size && s->memory - old_size + new_size > limit) {
		s->out_of_memory = true;
		return NULL;
	}
	moved = realloc(p, new_size);
	if (moved)
		s->memory += new_size - old_size;
	return moved;
}

static void end(lua_State *L, const char *format, ...)
{
	struct script *s = script_of(L);
	va_list args;

	if (!s->ended) {
		va_start(args, format);
		vsnprintf(s->why, sizeof(s->why), format, args);
		va_end(args);
	}
	s->ended = true;
	script_fail(L, "%s", s->why);
}

static void look(lua_State *L, uint64_t steps)
{
	struct script *s = script_of(L);
	const struct script_limits *limits = &s->options.limits;
	struct human human;

	s->instructions += steps;
	if (s->ended)
		script_fail(L, "%s", s->why);
	if (s->options.stop && atomic_load_explicit(s->options.stop, memory_order_relaxed))
		end(L, "it was stopped");
	if (limits->instructions && s->instructions > limits->instructions)
		end(L, "it took more than %s steps, which is its limit",
		    human_count(&human, limits->instructions));
	if (s->ends_at && now_ns() > s->ends_at)
		end(L, "it took more than %s, which is its limit",
		    human_duration(&human, limits->time_ns));
}

static void count_hook(lua_State *L, lua_Debug *ar)
{
	look(L, HOOK_INSTRUCTIONS);
}

void script_steps(lua_State *L, uint64_t steps)
{
	look(L, steps);
}

void script_limits_start(struct script *s)
{
	s->instructions = 0;
	s->ended = s->exited = s->out_of_memory = false;
	s->ends_at = s->options.limits.time_ns ? now_ns() + s->options.limits.time_ns : 0;
	lua_sethook(s->lua, count_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
}

void script_push_where(lua_State *L)
{
	lua_Debug ar;

	for (int level = 0; lua_getstack(L, level, &ar); level++) {
		lua_getinfo(L, "Sl", &ar);
		if (*ar.what == 'C' || ar.currentline <= 0 || !strncmp(ar.source, "=memoir:", 8))
			continue;
		lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
		return;
	}
	lua_pushliteral(L, "");
}

int script_fail(lua_State *L, const char *format, ...)
{
	char text[700];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	script_push_where(L);
	lua_pushstring(L, text);
	lua_concat(L, 2);
	return lua_error(L);
}

/* fail(text): an error of the library's, where the script called it. */
static int limits_fail(lua_State *L)
{
	return script_fail(L, "%s", luaL_checkstring(L, 1));
}

/* rethrow(…): what pcall and its like gave, unless the script has been ended. */
static int limits_rethrow(lua_State *L)
{
	struct script *s = script_of(L);

	if (s->ended)
		return script_fail(L, "%s", s->why);
	return lua_gettop(L);
}

/* ended(): has it been?  A message handler is called without a hook then. */
static int limits_ended(lua_State *L)
{
	lua_pushboolean(L, script_of(L)->ended);
	return 1;
}

/* steps(count): what a function did that Lua does not count. */
static int limits_steps(lua_State *L)
{
	script_steps(L, (uint64_t)luaL_checkinteger(L, 1));
	return 0;
}

/* exit([code]) */
static int limits_exit(lua_State *L)
{
	struct script *s = script_of(L);

	s->code = lua_isboolean(L, 1) ? !lua_toboolean(L, 1) : (int)luaL_optinteger(L, 1, 0);
	s->exited = true;
	end(L, "exit");
	return 0;
}

/* setmetatable(), without finalizers. */
static int limits_setmetatable(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	if (!lua_isnoneornil(L, 2)) {
		luaL_checktype(L, 2, LUA_TTABLE);
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL)
			return script_fail(L, "there are no finalizers (__gc) in scripts");
		lua_pop(L, 1);
	}
	lua_settop(L, 2);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 2, 1);
	return 1;
}

/* Text of a chunk in pieces, so that a long one can be stopped. */
struct pieces {
	const char *text;
	size_t left;
};

static const char *next_piece(lua_State *L, void *context, size_t *ret_size)
{
	struct pieces *p = context;
	const char *text = p->text;

	*ret_size = p->left < 16384 ? p->left : 16384;
	look(L, *ret_size / 16);
	p->text += *ret_size;
	p->left -= *ret_size;
	return text;
}

int script_load_text(lua_State *L, const char *text, size_t size, const char *name)
{
	struct pieces p = { text, size };

	return lua_load(L, next_piece, &p, name, "t");
}

/* load(text [, name [, mode [, env]]]): text only, never a compiled chunk.  A function's pieces are
 * joined first. */
static int limits_load(lua_State *L)
{
	bool has_env = lua_gettop(L) >= 4;
	const char *text;
	size_t size;
	luaL_Buffer b;

	lua_settop(L, 4);
	if (lua_isfunction(L, 1)) {
		luaL_buffinit(L, &b);
		for (;;) {
			lua_pushvalue(L, 1);
			lua_call(L, 0, 1);
			if (lua_isnil(L, -1) || (lua_isstring(L, -1) && !lua_rawlen(L, -1))) {
				lua_pop(L, 1);
				break;
			}
			luaL_checktype(L, -1, LUA_TSTRING);
			luaL_addvalue(&b);
		}
		luaL_pushresult(&b);
		lua_replace(L, 1);
	}
	text = luaL_checklstring(L, 1, &size);
	if (script_load_text(L, text, size, luaL_optstring(L, 2, text))) {
		lua_pushnil(L);
		lua_insert(L, -2);
		return 2;
	}
	if (has_env) {
		lua_pushvalue(L, 4);
		lua_setupvalue(L, -2, 1);
	}
	return 1;
}

void script_limits_open(lua_State *L)
{
	static const luaL_Reg internal[] = {
		{ "fail", limits_fail },
		{ "rethrow", limits_rethrow },
		{ "ended", limits_ended },
		{ "steps", limits_steps },
		{ NULL, NULL },
	};

	lua_getglobal(L, "setmetatable");
	lua_pushcclosure(L, limits_setmetatable, 1);
	lua_setglobal(L, "setmetatable");
	lua_register(L, "load", limits_load);
	lua_register(L, "exit", limits_exit);
	luaL_setfuncs(L, internal, 0); /* into the table on top */
}
