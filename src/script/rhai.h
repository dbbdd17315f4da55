/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Scripts that exist already: Bytehound's analysis scripts are written in Rhai.
 *
 * The part of Rhai that such scripts use is translated to Lua 5.4, which the engine then runs like
 * any other script: docs/scripting.md says what that part is.  The text that comes out is one
 * chunk; it begins with the table that lib/rhai.lua leaves in __rhai, and has no other way to
 * anything.  Code that may fail stands on the line that it has in the script, so that the line of
 * an error is the script's own.  The chunk returns what the script's last statement is worth. */
#include <stddef.h>

struct buf;
struct err;

/* The longest script.  While it is translated it takes about a hundred times as much. */
#define RHAI_SIZE_MAX (1u << 18)

/* Adds the Lua text to `out`: 0, or -EINVAL or -E2BIG with err, whose offset is the byte of the
 * script that is wrong or not supported; nothing is added then. */
int rhai_to_lua(const char *text, size_t size, struct buf *out, struct err *err);

/* Scripts that follow each other: each knows the variables, constants and functions of those before
 * it.  The state of Lua that runs them is the same all the time. */
struct rhai_session;
struct rhai_session *rhai_session_new(void);
struct rhai_session *rhai_session_free(struct rhai_session *s);
/* The same for the next of them; `s` may be NULL.  One that is refused leaves nothing. */
int rhai_to_lua_in(struct rhai_session *s, const char *text, size_t size, struct buf *out,
		   struct err *err);
/* Line and column of a byte, both from 1; a column is a character. */
void rhai_position(const char *text, size_t size, size_t offset, unsigned *ret_line,
		   unsigned *ret_column);
