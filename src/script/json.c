/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* json.decode(text): a text of JSON as a value.  Objects and arrays are tables, a null in an object
 * is a member that is not there, and json.null in an array. */
#include <string.h>

#include "base/json_read.h"
#include "script/state.h"

#define STEPS 4096

struct decoder {
	struct json_reader reader;
	struct err err;
	struct buf *text;
	unsigned values;
};

static void push_value(lua_State *L, struct decoder *d, bool in_array);

static void push_object(lua_State *L, struct decoder *d)
{
	lua_newtable(L);
	json_read_object(&d->reader);
	buf_clear(d->text);
	while (json_read_key(&d->reader, d->text)) {
		lua_pushlstring(L, d->text->data, d->text->size);
		push_value(L, d, false);
		lua_rawset(L, -3);
		buf_clear(d->text);
	}
}

static void push_array(lua_State *L, struct decoder *d)
{
	lua_Integer i = 0;

	lua_newtable(L);
	json_read_array(&d->reader);
	while (json_read_element(&d->reader)) {
		push_value(L, d, true);
		lua_rawseti(L, -2, ++i);
	}
}

static void push_number(lua_State *L, struct decoder *d)
{
	const char *from = d->reader.at;
	size_t size;
	char digits[320];

	json_skip(&d->reader);
	size = (size_t)(d->reader.at - from);
	if (size >= sizeof(digits)) {
		json_wrong(&d->reader, "the number is too long");
		size = 0;
	}
	memcpy(digits, from, size);
	digits[size] = '\0';
	if (!lua_stringtonumber(L, digits)) {
		json_wrong(&d->reader, "this is no value");
		lua_pushnil(L);
	}
}

/* Always pushes one. */
static void push_value(lua_State *L, struct decoder *d, bool in_array)
{
	struct json_reader *r = &d->reader;
	bool yes = false;

	luaL_checkstack(L, 6, "the JSON is nested too deeply");
	if (++d->values % STEPS == 0)
		script_steps(L, STEPS);
	while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
		r->at++;
	switch (r->at < r->end && !r->failed ? *r->at : 'n') {
	case '{':
		push_object(L, d);
		return;
	case '[':
		push_array(L, d);
		return;
	case '"':
		buf_clear(d->text);
		json_read_text(r, d->text);
		lua_pushlstring(L, d->text->data ? d->text->data : "", d->text->size);
		return;
	case 't':
	case 'f':
		json_read_bool(r, &yes);
		lua_pushboolean(L, yes);
		return;
	case 'n':
		json_skip(r);
		if (in_array)
			lua_pushlightuserdata(L, NULL); /* json.null */
		else
			lua_pushnil(L);
		return;
	default:
		push_number(L, d);
	}
}

/* Keys and texts are read into TEXT_TWO, so `text` must not be that. */
static bool decode(lua_State *L, struct decoder *d, const char *text, size_t size)
{
	d->err.offset = ERR_NO_OFFSET;
	d->text = script_text(L, TEXT_TWO);
	json_reader_init(&d->reader, text, size, &d->err);
	push_value(L, d, false);
	return json_read_end(&d->reader);
}

void script_push_json(lua_State *L, const char *text, size_t size)
{
	struct decoder d = { 0 };

	if (!decode(L, &d, text, size))
		script_fail(L, "%s", d.err.text);
}

static int json_decode(lua_State *L)
{
	struct decoder d = { 0 };
	size_t size;
	const char *text = luaL_checklstring(L, 1, &size);

	if (decode(L, &d, text, size))
		return 1;
	return script_fail(L, "this is no JSON: %s, at byte %llu", d.err.text,
			   (unsigned long long)d.err.offset + 1);
}

void script_json_open(lua_State *L)
{
	static const luaL_Reg functions[] = { { "decode", json_decode }, { NULL, NULL } };

	lua_newtable(L);
	luaL_setfuncs(L, functions, 0);
	lua_pushlightuserdata(L, NULL);
	lua_setfield(L, -2, "null");
	lua_setglobal(L, "json");
}
