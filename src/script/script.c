/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* States of scripts: made, run, ended.  See script.h. */
#include "script/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/xalloc.h"
#include "script/list.h"
#include "script/rhai.h"
#include "script/state.h"

struct buf *script_text(lua_State *L, enum script_texts which)
{
	struct script *s = script_of(L);

	buf_clear(&s->texts[which]);
	return &s->texts[which];
}

/* put(text): to the host. */
static int put(lua_State *L, enum script_output kind, const char *name, int index)
{
	struct script *s = script_of(L);
	size_t size;
	const char *bytes = luaL_checklstring(L, index, &size);
	int error = s->options.host.put(s->options.host.context, kind, name, bytes, size);

	script_steps(L, 1 + size / 64);
	return error ? script_fail(L, "the output cannot be written: %s", strerror(-error)) : 0;
}

static int internal_put(lua_State *L)
{
	return put(L, SCRIPT_TEXT, NULL, 1);
}

static int internal_put_table(lua_State *L)
{
	return put(L, SCRIPT_TABLE, NULL, 1);
}

static int internal_put_links(lua_State *L)
{
	return put(L, SCRIPT_LINKS, NULL, 1);
}

static int internal_put_picture(lua_State *L)
{
	return put(L, SCRIPT_PICTURE, luaL_checkstring(L, 1), 2);
}

static int global_argv(lua_State *L)
{
	struct script *s = script_of(L);

	lua_createtable(L, s->options.argc, 0);
	for (int i = 0; i < s->options.argc; i++) {
		lua_pushstring(L, s->options.argv[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* What a script may have of Lua's own; the rest is never opened. */
static void open_libraries(lua_State *L, bool sandbox)
{
	static const luaL_Reg always[] = {
		{ LUA_GNAME, luaopen_base },
		{ LUA_COLIBNAME, luaopen_coroutine },
		{ LUA_TABLIBNAME, luaopen_table },
		{ LUA_STRLIBNAME, luaopen_string },
		{ LUA_MATHLIBNAME, luaopen_math },
		{ LUA_UTF8LIBNAME, luaopen_utf8 },
		{ NULL, NULL },
	};
	static const luaL_Reg native[] = {
		{ LUA_IOLIBNAME, luaopen_io },
		{ LUA_OSLIBNAME, luaopen_os },
		{ LUA_LOADLIBNAME, luaopen_package },
		{ NULL, NULL },
	};

	for (const luaL_Reg *lib = always; lib->name; lib++) {
		luaL_requiref(L, lib->name, lib->func, 1);
		lua_pop(L, 1);
	}
	for (const luaL_Reg *lib = native; !sandbox && lib->name; lib++) {
		luaL_requiref(L, lib->name, lib->func, 1);
		lua_pop(L, 1);
	}
}

/* The tables of our own half in C, which the half in Lua gets as its argument. */
static void open_own(lua_State *L)
{
	static const luaL_Reg internal[] = {
		{ "put", internal_put },
		{ "put_table", internal_put_table },
		{ "put_links", internal_put_links },
		{ "put_picture", internal_put_picture },
		{ "type_name", script_type_name },
		{ NULL, NULL },
	};
	struct script *s = script_of(L);

	lua_newtable(L);
	script_classes_open(L);
	luaL_setfuncs(L, internal, 0);
	lua_pushboolean(L, s->options.sandbox);
	lua_setfield(L, -2, "sandbox");
	lua_pushboolean(L, s->options.host.takes_tables);
	lua_setfield(L, -2, "takes_tables");
	lua_register(L, "argv", global_argv);
	script_limits_open(L);
	script_values_open(L);
	script_data_open(L);
	script_groups_open(L);
	script_maps_open(L);
	script_json_open(L);
	script_asking_open(L);
	script_exporting_open(L);
	script_drawing_open(L);
	script_patterns_open(L);
	script_rules_open(L);
	script_files_open(L);
	script_vocabulary_open(L);
}

static int open_state(lua_State *L)
{
	struct script *s = script_of(L);

	open_libraries(L, s->options.sandbox);
	open_own(L);
	for (const struct script_lib *lib = script_libs; lib->name; lib++) {
		char name[64] = "=memoir:";

		strncat(name, lib->name, sizeof(name) - strlen(name) - 1);
		if (luaL_loadbufferx(L, lib->text, strlen(lib->text), name, "t"))
			return lua_error(L);
		lua_pushvalue(L, 1);
		lua_call(L, 1, 1);
		if (lua_isnil(L, -1))
			lua_pop(L, 1);
		else
			lua_setfield(L, 1, lib->name);
	}
	lua_setfield(L, LUA_REGISTRYINDEX, "memoir");
	return 0;
}

struct script *script_new(const struct script_options *o)
{
	struct script *s = xcalloc(1, sizeof(*s));
	struct script_limits limits = o->limits;

	s->options = *o;
	s->options.limits = (struct script_limits){ 0 }; /* of the script, not of the library */
	s->lua = lua_newstate(script_allocate, s);
	if (!s->lua)
		abort();
	*(struct script **)lua_getextraspace(s->lua) = s;
	lua_pushcfunction(s->lua, open_state);
	if (lua_pcall(s->lua, 0, 0, 0)) { /* a test opens every state that there is */
		fprintf(stderr, "memoir: %s\n", lua_tostring(s->lua, -1));
		abort();
	}
	s->options.limits = limits;
	return s;
}

static void free_data(struct script_data *d)
{
	map_list_free(d->maps);
	snapshot_drop(d->snapshot);
	free(d->name);
	free(d);
}

struct script *script_free(struct script *s)
{
	if (!s)
		return NULL;
	lua_sethook(s->lua, NULL, 0, 0);
	lua_close(s->lua);
	choice_drop(s->pending);
	rhai_session_free(s->rhai);
	for (size_t i = 0; i < s->data_count; i++)
		free_data(s->data[i]);
	free(s->data);
	for (unsigned i = 0; i < TEXT_COUNT; i++)
		buf_release(&s->texts[i]);
	free(s);
	return NULL;
}

void script_add(struct script *s, struct snapshot *snapshot)
{
	script_add_data(s, snapshot_hold(snapshot));
}

/* "(global 'alocations')": which name may be meant? */
static void suggest_global(lua_State *L, const char *text, struct buf *out)
{
	const char *at = strstr(text, "(global '");
	char name[64] = "";
	struct nearest near;

	if (!at)
		return;
	at += strlen("(global '");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "'"), at);
	near = nearest_to(name);
	lua_pushglobaltable(L);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
		if (lua_type(L, -2) == LUA_TSTRING)
			nearest_consider(&near, lua_tostring(L, -2));
	buf_text(out, nearest_hint(&near, ""));
	lua_pop(L, 1);
}

/* What Lua says of a line of the library's, as in "memoir:graph:12: bad argument", behind that: it
 * is about the line of the script that called it.  NULL: it is something else. */
static const char *behind_own_place(const char *message)
{
	size_t name = strlen("memoir:"), digits;

	if (strncmp(message, "memoir:", name) != 0)
		return NULL;
	name += strcspn(message + name, ":");
	digits = strspn(message + name + !!message[name], "0123456789");
	return digits && !strncmp(message + name + 1 + digits, ": ", 2)
		       ? message + name + 1 + digits + 2
		       : NULL;
}

/* The message of an error that nobody caught. */
static int explain(lua_State *L)
{
	struct script *s = script_of(L);
	struct buf *text;
	const char *message, *ours;

	if (s->ended)
		return 1;
	message = luaL_tolstring(L, 1, NULL);
	ours = behind_own_place(message);
	if (ours)
		script_push_where(L);
	text = script_text(L, TEXT_ONE);
	buf_text(text, ours ? lua_tostring(L, -1) : "");
	buf_text(text, ours ? ours : message);
	suggest_global(L, message, text);
	lua_pushlstring(L, text->data, text->size);
	return 1;
}

/* "report.lua:12: …" */
static unsigned line_of(const char *text)
{
	for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
		char *end;
		unsigned long line = strtoul(colon + 1, &end, 10);

		if (end > colon + 1 && *end == ':')
			return (unsigned)line;
	}
	return 0;
}

static void set_end(struct script *s, int error, bool syntax, struct script_end *ret)
{
	const char *text = error ? lua_tostring(s->lua, -1) : "";

	*ret = (struct script_end){ .status = SCRIPT_DONE };
	if (!error && !s->ended)
		return;
	ret->status = s->exited	 ? SCRIPT_EXITED
		      : s->ended ? SCRIPT_STOPPED
		      : syntax	 ? SCRIPT_SYNTAX
				 : SCRIPT_FAILED;
	ret->code = s->code;
	if (error == LUA_ERRMEM && !s->ended)
		text = "it needs more memory than its limit allows";
	if (s->exited)
		text = "";
	snprintf(ret->text, sizeof(ret->text), "%s", text ? text : "an error without a text");
	ret->line = line_of(ret->text);
}

const char *script_end_message(const struct script_end *end, unsigned *ret_column)
{
	const char *text = end->text, *colon = strchr(text, ':');
	unsigned long column;
	char *after;

	*ret_column = 0;
	if (!end->line || !colon || strtoul(colon + 1, &after, 10) != end->line || *after != ':')
		return text;
	text = after + 1 + (after[1] == ' ');
	column = strtoul(text, &after, 10);
	if (after == text || *after != ':')
		return text;
	*ret_column = (unsigned)column;
	return after + 1 + (after[1] == ' ');
}

/* The chunk that was loaded, or its error, is on top; below it is the message handler. */
static int call_chunk(struct script *s)
{
	int error = lua_pcall(s->lua, 0, LUA_MULTRET, 1);

	lua_sethook(s->lua, NULL, 0, 0);
	return error;
}

static const char *chunk_name(const char *name, char room[256])
{
	snprintf(room, 256, "%s%s", strchr(name, '.') || strchr(name, '/') ? "@" : "=", name);
	return room;
}

/* A line that begins with #! is the kernel's. */
static void skip_shebang(const char **text, size_t *size)
{
	if (*size < 2 || memcmp(*text, "#!", 2) != 0)
		return;
	while (*size && **text != '\n') {
		++*text;
		--*size;
	}
}

static bool is_rhai(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".rhai");
}

/* Text in Rhai to text in Lua, of the same lines; or why not is on top. */
static int translate(lua_State *L, const char *name, const char *text, size_t size,
		     struct buf *ret_lua)
{
	struct script *s = script_of(L);
	struct err err = { .offset = 0 };
	unsigned line, column;

	if (!s->rhai)
		s->rhai = rhai_session_new();
	if (!rhai_to_lua_in(s->rhai, text, size, ret_lua, &err))
		return LUA_OK;
	rhai_position(text, size, err.offset, &line, &column);
	lua_pushfstring(L, "%s:%d:%d: %s", name, (int)line, (int)column, err.text);
	return LUA_ERRSYNTAX;
}

/* Leaves the chunk, or what is wrong with it, on top of the message handler. */
static int load_chunk(struct script *s, const char *name, const char *text, size_t size)
{
	auto_buf struct buf lua = { 0 };
	char room[256];
	int error = LUA_OK;

	lua_settop(s->lua, 0);
	lua_pushcfunction(s->lua, explain);
	script_limits_start(s);
	skip_shebang(&text, &size);
	if (s->options.rhai || is_rhai(name)) {
		error = translate(s->lua, name, text, size, &lua);
		text = lua.data;
		size = lua.size;
	}
	return error ? error : script_load_text(s->lua, text, size, chunk_name(name, room));
}

/* A text that is an expression, with what shows its value around it: true, and the chunk is on top
 * of the message handler. */
static bool load_expression(struct script *s, const char *name, const char *text, size_t size)
{
	auto_buf struct buf wrapped = { 0 };
	char room[256];

	lua_settop(s->lua, 0);
	lua_pushcfunction(s->lua, explain);
	script_limits_start(s);
	skip_shebang(&text, &size);
	buf_text(&wrapped, "return __show(");
	buf_add(&wrapped, text, size);
	buf_text(&wrapped, "\n)");
	return !script_load_text(s->lua, wrapped.data, wrapped.size, chunk_name(name, room));
}

/* What a text in Rhai was worth lies above the message handler. */
static int show_rhai(struct script *s)
{
	lua_State *L = s->lua;

	lua_settop(L, 2);
	lua_getglobal(L, "__rhai");
	lua_getfield(L, -1, "show");
	lua_replace(L, 3);
	lua_insert(L, 2);
	return lua_pcall(L, 1, 0, 1);
}

void script_run(struct script *s, const char *name, const char *text, size_t size,
		struct script_end *ret_end)
{
	bool rhai = s->options.rhai || is_rhai(name), syntax;
	int error = LUA_OK;

	if (!s->options.shows || rhai || !load_expression(s, name, text, size))
		error = load_chunk(s, name, text, size);
	syntax = error;
	if (!error)
		error = call_chunk(s);
	if (!error && rhai && s->options.shows)
		error = show_rhai(s);
	set_end(s, error, syntax, ret_end);
}

/* What is to be chosen by the list that a script was worth, as text. */
static int expression_of(lua_State *L)
{
	struct script_list *l = script_test(L, 1, &script_list_class);
	struct buf *text = script_text(L, TEXT_ONE);

	if (!l) {
		lua_settop(L, 1);
		script_type_name(L);
		return script_fail(L, "the script is worth %s, not a list of allocations",
				   lua_isnil(L, 1) ? "nothing" : lua_tostring(L, -1));
	}
	script_list_expression(L, l, text);
	lua_pushlstring(L, text->data ? text->data : "", text->size);
	return 1;
}

void script_run_filter(struct script *s, const char *name, const char *text, size_t size,
		       struct buf *out, struct script_end *ret_end)
{
	lua_State *L = s->lua;
	int error = load_chunk(s, name, text, size);
	bool syntax = error;

	if (!error)
		error = call_chunk(s);
	if (!error) {
		lua_settop(L, 2); /* the message handler, and the first value */
		lua_pushcfunction(L, expression_of);
		lua_insert(L, 2);
		error = lua_pcall(L, 1, 1, 1);
	}
	if (!error)
		buf_add(out, lua_tostring(L, -1), lua_rawlen(L, -1));
	set_end(s, error, syntax, ret_end);
}

/* Does a text end where more of it is expected? */
static bool is_beginning(lua_State *L, int error)
{
	size_t size;
	const char *text = lua_tolstring(L, -1, &size);

	return error == LUA_ERRSYNTAX && size >= 5 && !strcmp(text + size - 5, "<eof>");
}

/* The same of Rhai, whose reader says where: behind all that there is. */
static bool is_rhai_beginning(struct script *s, const char *text, size_t size)
{
	auto_buf struct buf lua = { 0 };
	struct err err = { .offset = 0 };

	while (size && strchr(" \t\n", text[size - 1]))
		size--;
	return rhai_to_lua_in(s->rhai, text, size, &lua, &err) && err.offset >= size;
}

/* A line in Rhai, and what it is worth. */
static bool run_rhai_line(struct script *s, const char *text, size_t size,
			  struct script_end *ret_end)
{
	int error = load_chunk(s, "line", text, size);
	bool syntax = error;

	if (error && is_rhai_beginning(s, text, size))
		return false;
	if (!error)
		error = call_chunk(s);
	if (!error)
		error = show_rhai(s);
	set_end(s, error, syntax, ret_end);
	return true;
}

bool script_run_line(struct script *s, const char *text, size_t size, struct script_end *ret_end)
{
	struct buf wrapped = { 0 };
	lua_State *L = s->lua;
	int error;

	if (s->options.rhai)
		return run_rhai_line(s, text, size, ret_end);
	lua_settop(L, 0);
	lua_pushcfunction(L, explain);
	script_limits_start(s);
	buf_printf(&wrapped, "return __show(%.*s\n)", (int)size, text);
	error = luaL_loadbufferx(L, wrapped.data, wrapped.size, "=line", "t");
	buf_release(&wrapped);
	if (error) {
		lua_pop(L, 1);
		error = luaL_loadbufferx(L, text, size, "=line", "t");
	}
	if (is_beginning(L, error))
		return false;
	if (!error)
		error = call_chunk(s);
	set_end(s, error, error == LUA_ERRSYNTAX, ret_end);
	return true;
}

void script_describe(struct buf *out)
{
	struct script_options options = { .sandbox = true };
	struct script *s = script_new(&options);
	struct json j = { .out = out, .compact = true };

	lua_getfield(s->lua, LUA_REGISTRYINDEX, "memoir");
	lua_getfield(s->lua, -1, "description");
	if (lua_pcall(s->lua, 0, 1, 0)) { /* likewise */
		fprintf(stderr, "memoir: %s\n", lua_tostring(s->lua, -1));
		abort();
	}
	json_object(&j, NULL);
	json_written(&j, "vocabulary", lua_tostring(s->lua, -1), lua_rawlen(s->lua, -1));
	script_free(s);
	JSON_ROWS(&j, "examples", i, script_examples_count) {
		json_text(&j, "name", script_examples[i].name);
		json_text(&j, "text", script_examples[i].text);
	}
	json_end_object(&j);
}

/* Calls a function of the library's about a line, whose text it leaves on top: false if it has
 * none. */
static bool call_about(struct script *s, const char *function, const char *text)
{
	lua_State *L = s->lua;
	int error;

	lua_settop(L, 0);
	script_limits_start(s);
	lua_getfield(L, LUA_REGISTRYINDEX, "memoir");
	lua_getfield(L, -1, function);
	lua_pushstring(L, text);
	lua_pushboolean(L, s->options.rhai);
	error = lua_pcall(L, 2, 1, 0);
	lua_sethook(L, NULL, 0, 0);
	return !error && lua_isstring(L, -1);
}

void script_complete(struct script *s, const char *text, struct buf *out)
{
	if (call_about(s, "complete", text))
		buf_text(out, lua_tostring(s->lua, -1));
	lua_settop(s->lua, 0);
}

void script_explain(struct script *s, const char *text)
{
	call_about(s, "explain", text);
	lua_settop(s->lua, 0);
}
