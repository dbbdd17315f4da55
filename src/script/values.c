/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Durations in scripts: nanoseconds with a sign, which add, subtract, compare, and multiply with
 * numbers.  A moment is the duration since the program started. */
#include <inttypes.h>
#include <math.h>

#include "base/buf_text.h"
#include "query/value.h"
#include "script/state.h"

#define SECOND 1000000000ll

void script_push_duration(lua_State *L, int64_t ns)
{
	int64_t *value = script_new_value(L, &script_duration_class, sizeof(*value));

	*value = ns;
}

void script_push_moment(lua_State *L, const struct script_data *d, uint64_t stamp)
{
	script_push_duration(L, (int64_t)model_ns(d->snapshot->model, stamp));
}

/* 1h 2m 3s 4ms 5us; nanoseconds only where there are some. */
static void script_duration_text(int64_t ns, struct buf *out)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = {
		{ 3600 * SECOND, "h" }, { 60 * SECOND, "m" }, { SECOND, "s" },
		{ 1000000, "ms" },	{ 1000, "us" },	      { 1, "ns" },
	};
	uint64_t left = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const char *before = ns < 0 ? "-" : "";

	if (!left)
		buf_text(out, "0s");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (left < units[i].ns)
			continue;
		buf_printf(out, "%s%" PRIu64 "%s", before, left / units[i].ns, units[i].unit);
		left %= units[i].ns;
		before = " ";
	}
}

static int64_t check_duration(lua_State *L, int index)
{
	return *(int64_t *)script_check(L, index, &script_duration_class);
}

static int push_real(lua_State *L, double ns)
{
	if (!(fabs(ns) < 9.2e18))
		return script_fail(L, "the duration is too long");
	script_push_duration(L, llround(ns));
	return 1;
}

static int push_unless(lua_State *L, bool too_long, int64_t ns)
{
	if (too_long)
		return script_fail(L, "the duration is too long");
	script_push_duration(L, ns);
	return 1;
}

static int duration_add(lua_State *L)
{
	int64_t ns;
	bool over = __builtin_add_overflow(check_duration(L, 1), check_duration(L, 2), &ns);

	return push_unless(L, over, ns);
}

static int duration_sub(lua_State *L)
{
	int64_t ns;
	bool over = __builtin_sub_overflow(check_duration(L, 1), check_duration(L, 2), &ns);

	return push_unless(L, over, ns);
}

static int duration_mul(lua_State *L)
{
	bool first = lua_type(L, 1) == LUA_TNUMBER;
	int64_t ns = check_duration(L, first ? 2 : 1), product;

	if (lua_isinteger(L, first ? 1 : 2) &&
	    !__builtin_mul_overflow(ns, lua_tointeger(L, first ? 1 : 2), &product)) {
		script_push_duration(L, product);
		return 1;
	}
	return push_real(L, (double)ns * luaL_checknumber(L, first ? 1 : 2));
}

/* By a number a duration, by a duration a number. */
static int duration_div(lua_State *L)
{
	int64_t *by = script_test(L, 2, &script_duration_class);
	double ns = (double)check_duration(L, 1);

	if (!by)
		return push_real(L, ns / luaL_checknumber(L, 2));
	lua_pushnumber(L, ns / (double)*by);
	return 1;
}

static int duration_unm(lua_State *L)
{
	int64_t ns;
	bool over = __builtin_sub_overflow((int64_t)0, check_duration(L, 1), &ns);

	return push_unless(L, over, ns);
}

static int duration_eq(lua_State *L)
{
	int64_t *a = script_test(L, 1, &script_duration_class);
	int64_t *b = script_test(L, 2, &script_duration_class);

	lua_pushboolean(L, a && b && *a == *b);
	return 1;
}

static int duration_lt(lua_State *L)
{
	lua_pushboolean(L, check_duration(L, 1) < check_duration(L, 2));
	return 1;
}

static int duration_le(lua_State *L)
{
	lua_pushboolean(L, check_duration(L, 1) <= check_duration(L, 2));
	return 1;
}

static int duration_tostring(lua_State *L)
{
	struct buf *text = script_text(L, TEXT_ONE);

	script_duration_text(check_duration(L, 1), text);
	lua_pushlstring(L, text->data, text->size);
	return 1;
}

/* d.s, d.ms …: as a number of that unit; ns as a whole one. */
static void unit_field(lua_State *L, const struct script_field *f)
{
	int64_t ns = *(int64_t *)lua_touserdata(L, 1);

	if (f->which == 1)
		lua_pushinteger(L, ns);
	else
		lua_pushnumber(L, (double)ns / f->which);
}

static const struct script_field fields[] = {
	{ "ns", unit_field, 1, "nanoseconds, a whole number" },
	{ "us", unit_field, 1000, "microseconds" },
	{ "ms", unit_field, 1000000, "milliseconds" },
	{ "s", unit_field, 1000000000, "seconds" },
	{ 0 },
};

static const luaL_Reg meta[] = {
	{ "__add", duration_add },
	{ "__sub", duration_sub },
	{ "__mul", duration_mul },
	{ "__div", duration_div },
	{ "__unm", duration_unm },
	{ "__eq", duration_eq },
	{ "__lt", duration_lt },
	{ "__le", duration_le },
	{ "__tostring", duration_tostring },
	{ NULL, NULL },
};

const struct script_class script_duration_class = {
	.name = "a duration",
	.key = "duration",
	.meta = meta,
	.fields = fields,
};

/* h(1), m(2), s(0.5), ms(10), us(3), ns(7): the upvalue is how many nanoseconds one is. */
static int make_duration(lua_State *L)
{
	lua_Integer unit = lua_tointeger(L, lua_upvalueindex(1));
	int64_t ns;

	if (lua_isinteger(L, 1) && !__builtin_mul_overflow(lua_tointeger(L, 1), unit, &ns)) {
		script_push_duration(L, ns);
		return 1;
	}
	return push_real(L, luaL_checknumber(L, 1) * (double)unit);
}

/* kb(1), mb(2), gb(0.5); kib, mib, gib: a whole number of bytes. */
static int make_size(lua_State *L)
{
	lua_Integer unit = lua_tointeger(L, lua_upvalueindex(1)), bytes;
	double real;

	if (lua_isinteger(L, 1) && !__builtin_mul_overflow(lua_tointeger(L, 1), unit, &bytes)) {
		lua_pushinteger(L, bytes);
		return 1;
	}
	real = luaL_checknumber(L, 1) * (double)unit;
	if (!(fabs(real) < 9.2e18))
		return script_fail(L, "the size is too large");
	lua_pushinteger(L, llround(real));
	return 1;
}

/* bytes("1.5M"): a size as filters take it; a number is one already. */
static int global_bytes(lua_State *L)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct value v;

	if (value_parse(&v, ARG_SIZE, luaL_checkstring(L, 1), &err))
		return script_fail(L, "bytes: %s", err.text);
	lua_pushinteger(L, (lua_Integer)v.number);
	value_release(&v);
	return 1;
}

static int is_duration(lua_State *L)
{
	lua_pushboolean(L, script_test(L, 1, &script_duration_class) != NULL);
	return 1;
}

void script_values_open(lua_State *L)
{
	static const struct {
		const char *name;
		lua_Integer unit;
		lua_CFunction make;
	} units[] = {
		{ "h", 3600 * SECOND, make_duration },
		{ "m", 60 * SECOND, make_duration },
		{ "s", SECOND, make_duration },
		{ "ms", 1000000, make_duration },
		{ "us", 1000, make_duration },
		{ "ns", 1, make_duration },
		{ "kb", 1000, make_size },
		{ "mb", 1000000, make_size },
		{ "gb", 1000000000, make_size },
		{ "kib", 1 << 10, make_size },
		{ "mib", 1 << 20, make_size },
		{ "gib", 1 << 30, make_size },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		lua_pushinteger(L, units[i].unit);
		lua_pushcclosure(L, units[i].make, 1);
		lua_setglobal(L, units[i].name);
	}
	lua_register(L, "bytes", global_bytes);
	lua_pushcfunction(L, is_duration);
	lua_setfield(L, -2, "is_duration");
}
