/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scripts in Rhai: any bytes are refused with a reason and a place, or become text that Lua takes,
 * on as many lines as there were, or fewer. */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/err.h"
#include "fuzz.h"
#include "script/rhai.h"

static size_t lines(const char *text, size_t size)
{
	size_t count = 1;

	for (size_t i = 0; i < size; i++)
		count += text[i] == '\n';
	return count;
}

FUZZ(rhai, data, size)
{
	const char *text = (const char *)data;
	struct err err = { .text = "" };
	struct buf lua = { 0 };
	unsigned line, column;
	lua_State *state;

	if (rhai_to_lua(text, size, &lua, &err)) {
		if (!*err.text || err.offset > size || lua.size)
			abort(); /* refused, and not said why, or where */
		rhai_position(text, size, err.offset, &line, &column);
		if (!line || !column || line > lines(text, size))
			abort();
		return 0;
	}
	if (lines(lua.data, lua.size) > lines(text, size) + 1)
		abort();
	state = luaL_newstate();
	if (!state || luaL_loadbufferx(state, lua.data, lua.size, "=rhai", "t"))
		abort();
	lua_close(state);
	buf_release(&lua);
	return 0;
}
