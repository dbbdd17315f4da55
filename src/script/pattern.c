/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lua's patterns, with a count of steps: string.find, match, gmatch and gsub.
 *
 * Lua's own functions cannot be stopped, and a pattern such as "a*a*a*a*b" takes time that grows
 * with the fourth power of the text.  Here every character that is looked at is a step of the
 * script's (script_steps).  What they do is what Lua's manual says; the differential test compares
 * them with Lua's own. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "script/state.h"

#define CAPTURES 32
#define DEPTH_MAX 200
#define STEPS 1024
#define ESCAPE '%'

enum { CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

struct matcher {
	lua_State *L;
	const char *text, *text_end;
	const char *pattern_end;
	unsigned level, depth, steps;
	struct {
		const char *from;
		ptrdiff_t size; /* or CAPTURE_… */
	} captures[CAPTURES];
};

static const char *match_here(struct matcher *m, const char *s, const char *p);

static void step(struct matcher *m)
{
	if (++m->steps < STEPS)
		return;
	m->steps = 0;
	script_steps(m->L, STEPS);
}

/* What a letter behind % means; its capital is the opposite.  Anything else is itself. */
static bool in_class(unsigned char c, unsigned char letter)
{
	bool yes;

	switch (tolower(letter)) {
	case 'a':
		yes = isalpha(c);
		break;
	case 'c':
		yes = iscntrl(c);
		break;
	case 'd':
		yes = isdigit(c);
		break;
	case 'g':
		yes = isgraph(c);
		break;
	case 'l':
		yes = islower(c);
		break;
	case 'p':
		yes = ispunct(c);
		break;
	case 's':
		yes = isspace(c);
		break;
	case 'u':
		yes = isupper(c);
		break;
	case 'w':
		yes = isalnum(c);
		break;
	case 'x':
		yes = isxdigit(c);
		break;
	default:
		return letter == c;
	}
	return isupper(letter) ? !yes : yes;
}

/* Behind the single item that begins at p: a character, %x, [set]. */
static const char *item_end(struct matcher *m, const char *p)
{
	if (*p == ESCAPE) {
		if (p + 1 == m->pattern_end)
			script_fail(m->L, "malformed pattern (ends with '%%')");
		return p + 2;
	}
	if (*p++ != '[')
		return p;
	if (p < m->pattern_end && *p == '^')
		p++;
	do { /* a ] that comes first is one of the set */
		if (p == m->pattern_end)
			script_fail(m->L, "malformed pattern (missing ']')");
		if (*p++ == ESCAPE) {
			if (p == m->pattern_end)
				script_fail(m->L, "malformed pattern (missing ']')");
			p++;
		}
	} while (p == m->pattern_end || *p != ']');
	return p + 1;
}

/* `p` is at [, `last` at its ]. */
static bool in_set(unsigned char c, const char *p, const char *last)
{
	bool positive = p[1] != '^';

	for (p += positive ? 1 : 2; p < last; p++) {
		if (*p == ESCAPE) {
			if (in_class(c, (unsigned char)*++p))
				return positive;
		} else if (p + 2 < last && p[1] == '-') {
			if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2])
				return positive;
			p += 2;
		} else if ((unsigned char)*p == c) {
			return positive;
		}
	}
	return !positive;
}

static bool fits_one(struct matcher *m, const char *s, const char *p, const char *end)
{
	step(m);
	if (s >= m->text_end)
		return false;
	switch (*p) {
	case '.':
		return true;
	case ESCAPE:
		return in_class((unsigned char)*s, (unsigned char)p[1]);
	case '[':
		return in_set((unsigned char)*s, p, end - 1);
	default:
		return *p == *s;
	}
}

/* %bxy */
static const char *match_balance(struct matcher *m, const char *s, const char *p)
{
	unsigned open = 1;

	if (m->pattern_end - p < 2)
		script_fail(m->L, "malformed pattern (missing arguments to '%%b')");
	if (s >= m->text_end || *s != p[0])
		return NULL;
	for (s++; s < m->text_end; s++) {
		step(m);
		if (*s == p[1]) {
			if (!--open)
				return s + 1;
		} else if (*s == p[0]) {
			open++;
		}
	}
	return NULL;
}

static const char *match_frontier(struct matcher *m, const char *s, const char *p)
{
	const char *end;
	char before = s == m->text ? '\0' : s[-1], here = s < m->text_end ? *s : '\0';

	if (p == m->pattern_end || *p != '[')
		script_fail(m->L, "missing '[' after '%%f' in pattern");
	end = item_end(m, p);
	if (in_set((unsigned char)before, p, end - 1) || !in_set((unsigned char)here, p, end - 1))
		return NULL;
	return match_here(m, s, end);
}

/* %1 … %9 */
static const char *match_again(struct matcher *m, const char *s, char digit)
{
	unsigned i = (unsigned)(digit - '1');
	size_t size;

	if (i >= m->level || m->captures[i].size == CAPTURE_OPEN)
		script_fail(m->L, "invalid capture index %%%u in pattern", i + 1);
	if (m->captures[i].size == CAPTURE_POSITION) /* no text is like a position */
		return NULL;
	size = (size_t)m->captures[i].size;
	for (size_t k = 0; k < size; k += 64)
		step(m);
	if ((size_t)(m->text_end - s) < size || memcmp(m->captures[i].from, s, size) != 0)
		return NULL;
	return s + size;
}

/* As many as fit, then fewer and fewer. */
static const char *match_greedy(struct matcher *m, const char *s, const char *p, const char *end)
{
	size_t count = 0;

	while (fits_one(m, s + count, p, end))
		count++;
	for (;; count--) {
		const char *found = match_here(m, s + count, end + 1);

		if (found || !count)
			return found;
		step(m);
	}
}

static const char *match_lazy(struct matcher *m, const char *s, const char *p, const char *end)
{
	for (;; s++) {
		const char *found = match_here(m, s, end + 1);

		if (found)
			return found;
		if (!fits_one(m, s, p, end))
			return NULL;
	}
}

static const char *open_capture(struct matcher *m, const char *s, const char *p)
{
	bool position = p + 1 < m->pattern_end && p[1] == ')';
	const char *found;

	if (m->level == CAPTURES)
		script_fail(m->L, "too many captures");
	m->captures[m->level].from = s;
	m->captures[m->level].size = position ? CAPTURE_POSITION : CAPTURE_OPEN;
	m->level++;
	found = match_here(m, s, p + 1 + position);
	if (!found)
		m->level--;
	return found;
}

static const char *close_capture(struct matcher *m, const char *s, const char *p)
{
	unsigned i = m->level;
	const char *found;

	while (i && m->captures[i - 1].size != CAPTURE_OPEN)
		i--;
	if (!i)
		script_fail(m->L, "invalid pattern capture");
	m->captures[i - 1].size = s - m->captures[i - 1].from;
	found = match_here(m, s, p + 1);
	if (!found)
		m->captures[i - 1].size = CAPTURE_OPEN;
	return found;
}

/* What needs no recursion at its end: sets *ret_p behind it and returns where the text goes on. */
static const char *match_plain(struct matcher *m, const char *s, const char *p, const char *end,
			       const char **ret_p, bool *ret_done)
{
	char quantity = end < m->pattern_end ? *end : '\0';
	const char *found;

	*ret_done = true;
	switch (quantity) {
	case '*':
		return match_greedy(m, s, p, end);
	case '+':
		return fits_one(m, s, p, end) ? match_greedy(m, s + 1, p, end) : NULL;
	case '-':
		return match_lazy(m, s, p, end);
	case '?':
		if (fits_one(m, s, p, end)) {
			found = match_here(m, s + 1, end + 1);
			if (found)
				return found;
		}
		*ret_p = end + 1;
		*ret_done = false;
		return s;
	default:
		*ret_p = end;
		*ret_done = false;
		return fits_one(m, s, p, end) ? s + 1 : NULL;
	}
}

/* Where the match of the pattern from p on ends, or NULL. */
static const char *match_rest(struct matcher *m, const char *s, const char *p)
{
	bool done;

	while (p < m->pattern_end) {
		step(m);
		if (*p == '(')
			return open_capture(m, s, p);
		if (*p == ')')
			return close_capture(m, s, p);
		if (*p == '$' && p + 1 == m->pattern_end)
			return s == m->text_end ? s : NULL;
		if (*p == ESCAPE && p + 1 < m->pattern_end && p[1] == 'f')
			return match_frontier(m, s, p + 2);
		if (*p == ESCAPE && p + 1 < m->pattern_end && p[1] == 'b') {
			s = match_balance(m, s, p + 2);
			p += 4;
		} else if (*p == ESCAPE && p + 1 < m->pattern_end && isdigit((unsigned char)p[1])) {
			s = match_again(m, s, p[1]);
			p += 2;
		} else {
			s = match_plain(m, s, p, item_end(m, p), &p, &done);
			if (done)
				return s;
		}
		if (!s)
			return NULL;
	}
	return s;
}

static const char *match_here(struct matcher *m, const char *s, const char *p)
{
	const char *found;

	if (++m->depth > DEPTH_MAX)
		script_fail(m->L, "pattern too complex");
	found = match_rest(m, s, p);
	m->depth--;
	return found;
}

/* Pushes capture i; the whole match where there are none. */
static void push_capture(struct matcher *m, unsigned i, const char *s, const char *end)
{
	if (i >= m->level) {
		if (i)
			script_fail(m->L, "invalid capture index %%%u", i + 1);
		lua_pushlstring(m->L, s, (size_t)(end - s));
	} else if (m->captures[i].size == CAPTURE_OPEN) {
		script_fail(m->L, "unfinished capture");
	} else if (m->captures[i].size == CAPTURE_POSITION) {
		lua_pushinteger(m->L, m->captures[i].from - m->text + 1);
	} else {
		lua_pushlstring(m->L, m->captures[i].from, (size_t)m->captures[i].size);
	}
}

/* All of them; s NULL: not the whole match. */
static int push_captures(struct matcher *m, const char *s, const char *end)
{
	unsigned count = m->level || !s ? m->level : 1;

	luaL_checkstack(m->L, (int)count, "too many captures");
	for (unsigned i = 0; i < count; i++)
		push_capture(m, i, s, end);
	return (int)count;
}

/* The bytes before a position of Lua's, which may count from the end. */
static size_t start_of(lua_Integer position, size_t size)
{
	if (position > 0)
		return (size_t)position - 1;
	if (!position || position < -(lua_Integer)size)
		return 0;
	return size + (size_t)position;
}

static struct matcher matcher_of(lua_State *L, const char *text, size_t size)
{
	return (struct matcher){ .L = L, .text = text, .text_end = text + size };
}

/* Tries one place after the other from *s on; the pattern's ^ was taken off. */
static const char *search(struct matcher *m, const char **s, const char *p, bool anchored)
{
	for (;; ++*s) {
		const char *end;

		m->level = m->depth = 0;
		end = match_here(m, *s, p);
		if (end || anchored || *s >= m->text_end)
			return end;
	}
}

static int push_found(lua_State *L, size_t from, size_t to)
{
	lua_pushinteger(L, (lua_Integer)from + 1);
	lua_pushinteger(L, (lua_Integer)to);
	return 2;
}

/* Is there nothing in a pattern that means more than itself?  A ')' alone is left to be found, as
 * Lua does. */
static bool is_plain(const char *pattern, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (pattern[i] && strchr("^$*+?.([%-", pattern[i]))
			return false;
	return true;
}

static int find_or_match(lua_State *L, bool find)
{
	size_t size, pattern_size, start;
	const char *text = luaL_checklstring(L, 1, &size);
	const char *pattern = luaL_checklstring(L, 2, &pattern_size), *s, *end;
	struct matcher m = matcher_of(L, text, size);
	bool anchored = pattern_size && *pattern == '^';

	start = start_of(luaL_optinteger(L, 3, 1), size);
	if (start > size) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || is_plain(pattern, pattern_size))) {
		s = memmem(text + start, size - start, pattern, pattern_size);
		script_steps(L, (size - start) / 64);
		if (!s) {
			lua_pushnil(L);
			return 1;
		}
		return push_found(L, (size_t)(s - text), (size_t)(s - text) + pattern_size);
	}
	m.pattern_end = pattern + pattern_size;
	s = text + start;
	end = search(&m, &s, pattern + anchored, anchored);
	if (!end) {
		lua_pushnil(L);
		return 1;
	}
	if (!find)
		return push_captures(&m, s, end);
	push_found(L, (size_t)(s - text), (size_t)(end - text));
	return push_captures(&m, NULL, NULL) + 2;
}

static int pattern_find(lua_State *L)
{
	return find_or_match(L, true);
}

static int pattern_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* Upvalues: the text, the pattern, where to go on, where the last match ended. */
static int gmatch_next(lua_State *L)
{
	size_t size, pattern_size;
	const char *text = lua_tolstring(L, lua_upvalueindex(1), &size);
	const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_size);
	const char *s = text + lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct matcher m = matcher_of(L, text, size);

	m.pattern_end = pattern + pattern_size;
	for (; s <= m.text_end; s++) {
		const char *end = search(&m, &s, pattern, false);

		if (!end)
			break;
		if (end - text == last)
			continue;
		lua_pushinteger(L, end - text);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(&m, s, end);
	}
	return 0;
}

static int pattern_gmatch(lua_State *L)
{
	size_t size, start;

	luaL_checklstring(L, 1, &size);
	luaL_checkstring(L, 2);
	start = start_of(luaL_optinteger(L, 3, 1), size);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)(start > size ? size + 1 : start));
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* What takes the place of a match, where it is a text with %1. */
static void add_text(struct matcher *m, luaL_Buffer *b, const char *s, const char *end)
{
	size_t size;
	const char *with = lua_tolstring(m->L, 3, &size);

	for (size_t i = 0; i < size; i++) {
		if (with[i] != ESCAPE) {
			luaL_addchar(b, with[i]);
			continue;
		}
		i++;
		if (i < size && with[i] == ESCAPE) {
			luaL_addchar(b, ESCAPE);
		} else if (i < size && with[i] == '0') {
			luaL_addlstring(b, s, (size_t)(end - s));
		} else if (i < size && isdigit((unsigned char)with[i])) {
			push_capture(m, (unsigned)(with[i] - '1'), s, end);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(b);
		} else {
			script_fail(m->L, "invalid use of '%%' in replacement string");
		}
	}
}

/* Adds what takes the place of a match; false: it stays as it is. */
static bool add_replacement(struct matcher *m, luaL_Buffer *b, const char *s, const char *end)
{
	lua_State *L = m->L;
	int type = lua_type(L, 3);

	if (type == LUA_TFUNCTION) {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(m, s, end), 1);
	} else if (type == LUA_TTABLE) {
		push_capture(m, 0, s, end);
		lua_gettable(L, 3);
	} else {
		add_text(m, b, s, end);
		return true;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, s, (size_t)(end - s));
		return false;
	}
	if (!lua_isstring(L, -1))
		script_fail(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	luaL_addvalue(b);
	return true;
}

static int pattern_gsub(lua_State *L)
{
	size_t size, pattern_size;
	const char *text = luaL_checklstring(L, 1, &size), *s = text, *last = NULL;
	const char *pattern = luaL_checklstring(L, 2, &pattern_size);
	lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)size + 1), count = 0;
	bool anchored = pattern_size && *pattern == '^';
	struct matcher m = matcher_of(L, text, size);
	int type = lua_type(L, 3);
	luaL_Buffer b;

	luaL_argexpected(L,
			 type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
				 type == LUA_TTABLE,
			 3, "string/function/table");
	m.pattern_end = pattern + pattern_size;
	if (type == LUA_TNUMBER)
		lua_tostring(L, 3);
	luaL_buffinit(L, &b);
	while (count < most) {
		const char *end;

		m.level = m.depth = 0;
		end = match_here(&m, s, pattern + anchored);
		if (end && end != last) {
			count++;
			add_replacement(&m, &b, s, end);
			s = last = end;
		} else if (s < m.text_end) {
			luaL_addchar(&b, *s++);
		} else {
			break;
		}
		if (anchored)
			break;
	}
	luaL_addlstring(&b, s, (size_t)(m.text_end - s));
	luaL_pushresult(&b);
	lua_pushinteger(L, count);
	return 2;
}

void script_patterns_open(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "find", pattern_find },
		{ "match", pattern_match },
		{ "gmatch", pattern_gmatch },
		{ "gsub", pattern_gsub },
		{ NULL, NULL },
	};

	lua_getglobal(L, "string");
	luaL_setfuncs(L, functions, 0);
	lua_pop(L, 1);
}
