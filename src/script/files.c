/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Folders, for scripts that may reach files: what Lua's own libraries lack. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "script/state.h"

static int global_chdir(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);

	if (chdir(path))
		return script_fail(L, "%s: %s", path, strerror(errno));
	return 0;
}

/* mkdir_p(path): it, and those that it is in, where they are not there. */
static int global_mkdir_p(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct buf *part = script_text(L, TEXT_ONE);
	size_t size = strlen(path);

	for (size_t i = 0; i <= size; i++) {
		struct stat st;

		if (part->size && (i == size || path[i] == '/') && mkdir(part->data, 0777) &&
		    !(errno == EEXIST && !stat(part->data, &st) && S_ISDIR(st.st_mode)))
			return script_fail(L, "%s: %s", part->data, strerror(errno));
		if (i < size)
			buf_char(part, path[i]);
	}
	return 0;
}

void script_files_open(lua_State *L)
{
	if (script_of(L)->options.sandbox)
		return;
	lua_register(L, "chdir", global_chdir);
	lua_register(L, "mkdir_p", global_mkdir_p);
}
