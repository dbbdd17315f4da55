/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Patterns of Lua: the functions that scripts have find, capture and replace what Lua's own do.
 * The pattern is before the first line end, the text behind it; both short, since Lua's own cannot
 * be stopped. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "fuzz.h"
#include "script/script.h"

#define PATTERN_MAX 16
#define TEXT_MAX 24

/* Every result of every function, as one text. */
static const char chunk[] =
	"local t, p, r = ...\n"
	"local out = {}\n"
	"local function add(name, f, ...)\n"
	"  local all = table.pack(pcall(f, ...))\n"
	"  out[#out + 1] = name\n"
	"  if not all[1] then all.n = 1 end\n"
	"  for i = 1, all.n do out[#out + 1] = tostring(all[i]) end\n"
	"end\n"
	"add('find', string.find, t, p)\n"
	"add('find', string.find, t, p, -3)\n"
	"add('find', string.find, t, p, 2, true)\n"
	"add('match', string.match, t, p)\n"
	"add('gsub', string.gsub, t, p, r)\n"
	"add('gsub', string.gsub, t, p, function(a, b) return b and a .. b end, 2)\n"
	"add('gsub', string.gsub, t, p, { a = 'x', [''] = 1 })\n"
	"add('gmatch', function()\n"
	"  for a, b in string.gmatch(t, p) do out[#out + 1] = tostring(a) .. tostring(b) end\n"
	"end)\n"
	"return table.concat(out, '|')\n";

static struct buf ours;

static int put(void *context, enum script_output kind, const char *name, const void *bytes,
	       size_t size)
{
	buf_add(&ours, bytes, size);
	return 0;
}

static void add_quoted(struct buf *out, const uint8_t *bytes, size_t size)
{
	buf_char(out, '"');
	for (size_t i = 0; i < size; i++)
		buf_printf(out, "\\%03u", bytes[i]);
	buf_text(out, "\"");
}

static struct script *sandbox(void)
{
	static struct script *state;
	struct script_options o = { .host = { .put = put }, .sandbox = true };

	if (!state)
		state = script_new(&o);
	return state;
}

static lua_State *reference(void)
{
	static lua_State *state;

	if (!state) {
		state = luaL_newstate();
		luaL_openlibs(state);
	}
	return state;
}

FUZZ(pattern, data, size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t pattern = end ? (size_t)(end - data) : size, text = end ? size - pattern - 1 : 0;
	struct buf call = { 0 };
	struct script_end how;
	size_t body, expected;
	const char *theirs;
	lua_State *L = reference();

	if (pattern > PATTERN_MAX || text > TEXT_MAX)
		return 0;
	buf_printf(&call, "local function run(...) %s end\nlocal result = run(", chunk);
	add_quoted(&call, end ? end + 1 : data, text);
	buf_text(&call, ", ");
	add_quoted(&call, data, pattern);
	buf_text(&call, ", ");
	add_quoted(&call, data, pattern < 4 ? pattern : 4);
	buf_text(&call, ")\n");
	body = call.size;
	buf_text(&call, "print(result)\n");
	buf_clear(&ours);
	script_run(sandbox(), "pattern", call.data, call.size, &how);
	if (how.status != SCRIPT_DONE)
		abort();
	call.size = body;
	buf_text(&call, "return result\n");
	lua_settop(L, 0);
	if (luaL_loadbufferx(L, call.data, call.size, "=reference", "t") || lua_pcall(L, 0, 1, 0))
		abort();
	theirs = lua_tolstring(L, -1, &expected);
	if (ours.size != expected + 1 || memcmp(ours.data, theirs, expected) != 0)
		abort();
	buf_release(&call);
	return 0;
}
