/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory maps in scripts: lists of them, and single ones.
 *
 * There are few, and each is a row of the model that query/map_list.h makes of them.  So a list is
 * one bit for each map, found by the engine when the list is made. */
#include "script/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "script/groups.h"

#define NO_MAP UINT32_MAX

struct one_map {
	struct script_data *data;
	uint32_t row;
};

static const struct map_list *all_maps(lua_State *L, struct script_data *d)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct map_filter none;

	map_filter_init(&none);
	if (!d->maps)
		d->maps =
			map_list_new(d->snapshot->model, d->snapshot->locations, NULL, &none, &err);
	if (!d->maps)
		script_fail(L, "%s", err.text);
	return d->maps;
}

static uint32_t words_of(const struct script_maps *l)
{
	return l->all / 64 + 1;
}

/* Another list of the same recording, with nothing in it. */
static struct script_maps *push_list(lua_State *L, struct script_data *d)
{
	uint32_t all = all_maps(L, d)->maps->count;
	size_t bits = ((size_t)all / 64 + 1) * sizeof(uint64_t);
	struct script_maps *l = script_new_value(L, &script_map_list_class, sizeof(*l) + bits);

	l->data = d;
	l->all = all;
	return l;
}

static struct script_maps *check(lua_State *L, int index)
{
	return script_check(L, index, &script_map_list_class);
}

static bool has(const struct script_maps *l, uint32_t row)
{
	return l->bits[row / 64] >> (row % 64) & 1;
}

static uint32_t count_of(const struct script_maps *l)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < words_of(l); i++)
		count += (uint32_t)__builtin_popcountll(l->bits[i]);
	return count;
}

static uint32_t next_map(const struct script_maps *l, uint32_t row)
{
	while (row < l->all && !has(l, row))
		row++;
	return row < l->all ? row : NO_MAP;
}

/* What of `from` a list of the engine's has, which is freed. */
static int push_common(lua_State *L, const struct script_maps *from, struct map_list *found)
{
	struct script_maps *l = push_list(L, from->data);

	for (uint32_t row = 0; row < l->all; row++)
		if (has(from, row) && view_has(found->view, row))
			l->bits[row / 64] |= 1ull << (row % 64);
	map_list_free(found);
	return 1;
}

/* What a filter chooses of a list; takes the filter, which may be NULL. */
static int narrow(lua_State *L, const struct script_maps *from, struct filter *f,
		  const struct map_filter *only)
{
	struct snapshot *s = from->data->snapshot;
	struct err err = { .offset = ERR_NO_OFFSET };
	struct map_list *found = map_list_new(s->model, s->locations, f, only, &err);
	int pushed = found ? push_common(L, from, found) : 0;

	filter_free(f);
	return pushed ? pushed : script_fail(L, "%s", err.text);
}

static int list_where(lua_State *L)
{
	struct script_maps *l = check(L, 1);
	const char *expression = luaL_checkstring(L, 2);
	struct err err = { .offset = ERR_NO_OFFSET };
	struct filter *f = filter_new();
	struct map_filter none;

	map_filter_init(&none);
	if (!filter_parse(f, expression, &err))
		return narrow(L, l, f, &none);
	filter_free(f);
	return script_fail(L, "%s, at byte %d of '%s'", err.text, (int)err.offset + 1, expression);
}

/* only_…: of a row that only maps have, or of one that allocations have too. */
struct map_word {
	const char *name;
	const char *row; /* of map_filter_rows */
	enum filter_arg type;
	bool flag, negative;
};

static bool find_word(const char *name, struct map_word *ret)
{
	*ret = (struct map_word){ .name = name, .type = ARG_SIZE };
	if (strncmp(name, "only_", 5) != 0)
		return false;
	name += 5;
	if (!strcmp(name, "peak_rss_at_least"))
		ret->row = "peak_rss_min";
	else if (!strcmp(name, "peak_rss_at_most"))
		ret->row = "peak_rss_max";
	ret->negative = !strncmp(name, "not_", 4);
	name += ret->negative ? 4 : 0;
	if (!strcmp(name, "bytehound"))
		name = "memoir";
	for (const struct map_filter_row *r = map_filter_rows; r->name && !ret->row; r++)
		if (!strcmp(r->name, name) && (!ret->negative || r->type == ARG_CHOICE)) {
			ret->row = r->name;
			ret->type = r->type;
			ret->flag = r->type == ARG_CHOICE;
		}
	return ret->row;
}

static int call_word(lua_State *L)
{
	struct script_maps *l = check(L, 1);
	struct err err = { .offset = ERR_NO_OFFSET };
	struct map_filter only;
	struct map_word w;
	const char *value;

	find_word(lua_tostring(L, lua_upvalueindex(1)), &w);
	map_filter_init(&only);
	if (w.flag) {
		bool yes = lua_isnoneornil(L, 2) || lua_toboolean(L, 2);

		value = yes != w.negative ? "only_true" : "only_false";
	} else {
		value = script_filter_value(L, 2, w.type, w.name);
	}
	if (map_filter_set(&only, w.row, value, &err))
		return script_fail(L, "%s: %s", w.name, err.text);
	return narrow(L, l, NULL, &only);
}

static int call_filter(lua_State *L)
{
	const char *name = lua_tostring(L, lua_upvalueindex(1));
	struct script_maps *l = check(L, 1);
	struct err err = { .offset = ERR_NO_OFFSET };
	struct map_filter none;
	struct script_filter f;
	struct filter *made;
	struct choice *c;

	map_filter_init(&none);
	script_filter_find(name, &f);
	lua_settop(L, 2);
	c = script_filter_choices(L, &f, name);
	made = choice_filter(c, &err);
	choice_drop(c);
	return made ? narrow(L, l, made, &none) : script_fail(L, "%s", err.text);
}

static bool list_other(lua_State *L)
{
	struct script_maps *l = lua_touserdata(L, 1);
	struct script_filter f;
	struct map_word w;
	lua_Integer i;

	if (lua_isinteger(L, 2)) {
		uint32_t row = next_map(l, 0);

		for (i = lua_tointeger(L, 2); i > 1 && row != NO_MAP; i--)
			row = next_map(l, row + 1);
		if (i != 1 || row == NO_MAP)
			lua_pushnil(L);
		else
			script_push_map(L, l->data, row);
		return true;
	}
	if (lua_type(L, 2) != LUA_TSTRING)
		return false;
	if (find_word(lua_tostring(L, 2), &w)) {
		lua_pushvalue(L, 2);
		lua_pushcclosure(L, call_word, 1);
	} else if (script_filter_find(lua_tostring(L, 2), &f)) {
		lua_pushvalue(L, 2);
		lua_pushcclosure(L, call_filter, 1);
	} else {
		return false;
	}
	script_bind(L);
	return true;
}

static void list_names(struct buf *out)
{
	for (const struct map_filter_row *r = map_filter_rows; r->name; r++) {
		buf_printf(out, "only_%s\n", r->name);
		if (r->type == ARG_CHOICE)
			buf_printf(out, "only_not_%s\n", r->name);
	}
	buf_text(out, "only_peak_rss_at_least\nonly_peak_rss_at_most\nonly_bytehound\n"
		      "only_not_bytehound\n");
	script_filter_names(out);
}

static int list_len(lua_State *L)
{
	lua_pushinteger(L, count_of(check(L, 1)));
	return 1;
}

static uint64_t join_or(uint64_t a, uint64_t b)
{
	return a | b;
}

static uint64_t join_and(uint64_t a, uint64_t b)
{
	return a & b;
}

static uint64_t join_without(uint64_t a, uint64_t b)
{
	return a & ~b;
}

static int join(lua_State *L, uint64_t (*how)(uint64_t a, uint64_t b))
{
	struct script_maps *a = check(L, 1), *b = check(L, 2), *l;

	if (a->data != b->data)
		return script_fail(L, "the two lists are of different recordings");
	l = push_list(L, a->data);
	for (uint32_t i = 0; i < words_of(l); i++)
		l->bits[i] = how(a->bits[i], b->bits[i]);
	return 1;
}

static int list_union(lua_State *L)
{
	return join(L, join_or);
}

static int list_intersection(lua_State *L)
{
	return join(L, join_and);
}

static int list_difference(lua_State *L)
{
	return join(L, join_without);
}

static int list_eq(lua_State *L)
{
	struct script_maps *a = script_test(L, 1, &script_map_list_class);
	struct script_maps *b = script_test(L, 2, &script_map_list_class);

	lua_pushboolean(L, a && b && a->data == b->data &&
				   !memcmp(a->bits, b->bits, words_of(a) * sizeof(*a->bits)));
	return 1;
}

static int list_tostring(lua_State *L)
{
	uint32_t count = count_of(check(L, 1));

	lua_pushfstring(L, "%d map%s", (int)count, count == 1 ? "" : "s");
	return 1;
}

/* for m in list:iter(): the upvalues are the list and the row that is next. */
static int list_next(lua_State *L)
{
	struct script_maps *l = check(L, lua_upvalueindex(1));
	uint32_t row = next_map(l, (uint32_t)lua_tointeger(L, lua_upvalueindex(2)));

	if (row == NO_MAP)
		return 0;
	lua_pushinteger(L, (lua_Integer)row + 1);
	lua_replace(L, lua_upvalueindex(2));
	script_push_map(L, l->data, row);
	return 1;
}

/* for m in list do: the map behind the one that was last. */
static int list_call(lua_State *L)
{
	struct script_maps *l = check(L, 1);
	struct one_map *last = script_test(L, 3, &script_map_class);
	uint32_t row = next_map(l, last ? last->row + 1 : 0);

	if (row == NO_MAP)
		return 0;
	script_push_map(L, l->data, row);
	return 1;
}

/* All that the list has not. */
static int list_complement(lua_State *L)
{
	struct script_maps *l = check(L, 1), *rest = push_list(L, l->data);

	for (uint32_t row = 0; row < l->all; row++)
		if (!has(l, row))
			rest->bits[row / 64] |= 1ull << (row % 64);
	return 1;
}

static int list_iter(lua_State *L)
{
	check(L, 1);
	lua_settop(L, 1);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, list_next, 2);
	return 1;
}

static int list_data(lua_State *L)
{
	script_push_data(L, check(L, 1)->data);
	return 1;
}

static const luaL_Reg list_meta[] = {
	{ "__len", list_len },		 { "__add", list_union },
	{ "__bor", list_union },	 { "__sub", list_difference },
	{ "__band", list_intersection }, { "__eq", list_eq },
	{ "__tostring", list_tostring }, { "__call", list_call },
	{ "__bnot", list_complement },	 { NULL, NULL },
};

static const luaL_Reg list_methods[] = {
	{ "len", list_len },   { "iter", list_iter }, { "where", list_where },
	{ "data", list_data }, { NULL, NULL },
};

const struct script_class script_map_list_class = {
	.name = "a list of maps",
	.key = "map_list",
	.meta = list_meta,
	.methods = list_methods,
	.other = list_other,
	.names = list_names,
};

void script_push_map(lua_State *L, struct script_data *d, uint32_t row)
{
	struct one_map *m = script_new_value(L, &script_map_class, sizeof(*m));

	m->data = d;
	m->row = row;
}

bool script_put_map_ids(lua_State *L, int index, struct buf *out)
{
	struct one_map *m = script_test(L, index, &script_map_class);
	struct script_maps *l = script_test(L, index, &script_map_list_class);

	if (m)
		buf_printf(out, "%s%" PRIu32, out->size ? "," : "", m->row);
	for (uint32_t row = 0; l && row < l->all; row++)
		if (has(l, row))
			buf_printf(out, "%s%" PRIu32, out->size ? "," : "", row);
	return m || l;
}

enum map_number {
	MAP_ID,
	MAP_ADDRESS,
	MAP_SIZE,
	MAP_PEAK_RSS,
	MAP_BEGUN,
	MAP_ENDED,
	MAP_NAME,
	MAP_CALL,
	MAP_READABLE,
	MAP_WRITABLE,
	MAP_EXECUTABLE,
	MAP_SHARED,
	MAP_JEMALLOC,
	MAP_MEMOIR,
};

static const struct map_history *history_of(const struct one_map *m)
{
	return model_maps(m->data->snapshot->model);
}

static void map_field(lua_State *L, const struct script_field *f)
{
	const struct one_map *m = lua_touserdata(L, 1);
	const struct map_history *h = history_of(m);
	const struct map_row *row = &h->rows[m->row];
	uint32_t maker;

	switch ((enum map_number)f->which) {
	case MAP_ID:
		lua_pushinteger(L, m->row);
		return;
	case MAP_ADDRESS:
		lua_pushinteger(L, (lua_Integer)row->address);
		return;
	case MAP_SIZE:
		lua_pushinteger(L, (lua_Integer)row->size);
		return;
	case MAP_PEAK_RSS:
		lua_pushinteger(L, (lua_Integer)row->peak_rss);
		return;
	case MAP_BEGUN:
		script_push_moment(L, m->data, row->begun);
		return;
	case MAP_ENDED:
		if (row->ended == NEVER)
			lua_pushnil(L);
		else
			script_push_moment(L, m->data, row->ended);
		return;
	case MAP_NAME:
		lua_pushstring(L, map_history_name(h, row));
		return;
	case MAP_CALL:
		maker = map_history_maker(h, row);
		if (maker == NO_CALL)
			lua_pushnil(L);
		else
			lua_pushstring(L, locations_call(m->data->snapshot->locations,
							 h->calls.rows[maker].call));
		return;
	case MAP_READABLE:
		lua_pushboolean(L, row->flags & MAP_CAN_READ);
		return;
	case MAP_WRITABLE:
		lua_pushboolean(L, row->flags & MAP_CAN_WRITE);
		return;
	case MAP_EXECUTABLE:
		lua_pushboolean(L, row->flags & MAP_CAN_EXECUTE);
		return;
	case MAP_SHARED:
		lua_pushboolean(L, row->flags & MAP_IS_SHARED);
		return;
	case MAP_JEMALLOC:
		lua_pushboolean(L, h->jemalloc && row->flags & MAP_BY_ALLOCATOR);
		return;
	case MAP_MEMOIR:
		lua_pushboolean(L, row->flags & MAP_IS_OWN);
		return;
	}
}

static const struct script_field map_fields[] = {
	{ "id", map_field, MAP_ID, "its number, as filters take it" },
	{ "address", map_field, MAP_ADDRESS, "of its first region" },
	{ "size", map_field, MAP_SIZE, "the most bytes that it had" },
	{ "peak_rss", map_field, MAP_PEAK_RSS, "the most of it that was resident" },
	{ "allocated", map_field, MAP_BEGUN, "when it began" },
	{ "deallocated", map_field, MAP_ENDED, "when the last of it ended" },
	{ "name", map_field, MAP_NAME, "as the kernel has it: [heap], [anon:mmap], a path" },
	{ "call", map_field, MAP_CALL, "call that made it" },
	{ "readable", map_field, MAP_READABLE, "may it be read?" },
	{ "writable", map_field, MAP_WRITABLE, "may it be written to?" },
	{ "executable", map_field, MAP_EXECUTABLE, "may it be executed?" },
	{ "shared", map_field, MAP_SHARED, "is it shared with others?" },
	{ "jemalloc", map_field, MAP_JEMALLOC, "did jemalloc map it?" },
	{ "memoir", map_field, MAP_MEMOIR, "is it the recorder's own?" },
	{ 0 },
};

static struct one_map *check_map(lua_State *L)
{
	return script_check(L, 1, &script_map_class);
}

static int push_stack(lua_State *L, const struct one_map *m, uint32_t call)
{
	const struct map_call *c;

	if (call == NO_CALL)
		return 0;
	c = &history_of(m)->calls.rows[call];
	script_push_backtrace(L, m->data, c->stack, c->call);
	return 1;
}

/* nil of a map that nobody was seen to make. */
static int map_backtrace(lua_State *L)
{
	struct one_map *m = check_map(L);

	return push_stack(L, m, map_history_maker(history_of(m), &history_of(m)->rows[m->row]));
}

static int map_deallocation_backtrace(lua_State *L)
{
	struct one_map *m = check_map(L);

	return push_stack(L, m, history_of(m)->rows[m->row].end_call);
}

static int map_allocated_at(lua_State *L)
{
	struct one_map *m = check_map(L);

	script_push_moment(L, m->data, history_of(m)->rows[m->row].begun);
	return 1;
}

static int map_deallocated_at(lua_State *L)
{
	struct one_map *m = check_map(L);

	if (history_of(m)->rows[m->row].ended == NEVER)
		return 0;
	script_push_moment(L, m->data, history_of(m)->rows[m->row].ended);
	return 1;
}

static int map_data(lua_State *L)
{
	script_push_data(L, check_map(L)->data);
	return 1;
}

static int map_eq(lua_State *L)
{
	struct one_map *a = script_test(L, 1, &script_map_class);
	struct one_map *b = script_test(L, 2, &script_map_class);

	lua_pushboolean(L, a && b && a->data == b->data && a->row == b->row);
	return 1;
}

static int map_tostring(lua_State *L)
{
	struct one_map *m = check_map(L);

	lua_pushfstring(L, "map %d %s", (int)m->row,
			map_history_name(history_of(m), &history_of(m)->rows[m->row]));
	return 1;
}

static const luaL_Reg map_meta[] = {
	{ "__eq", map_eq },
	{ "__tostring", map_tostring },
	{ NULL, NULL },
};

static const luaL_Reg map_methods[] = {
	{ "backtrace", map_backtrace },
	{ "deallocation_backtrace", map_deallocation_backtrace },
	{ "allocated_at", map_allocated_at },
	{ "deallocated_at", map_deallocated_at },
	{ "data", map_data },
	{ NULL, NULL },
};

const struct script_class script_map_class = {
	.name = "a map",
	.key = "map",
	.meta = map_meta,
	.methods = map_methods,
	.fields = map_fields,
};

/* data:maps(): all that there were. */
static int data_maps(lua_State *L)
{
	struct script_data *d = script_check_data(L, 1);
	struct script_maps *l;

	if (!script_is_recording(d))
		return script_fail(L, "%s is no recording", d->snapshot->name);
	l = push_list(L, d);
	for (uint32_t row = 0; row < l->all; row++)
		l->bits[row / 64] |= 1ull << (row % 64);
	return 1;
}

void script_maps_open(lua_State *L)
{
	lua_getfield(L, -1, script_data_class.key);
	lua_pushcfunction(L, data_maps);
	lua_setfield(L, -2, "maps");
	lua_pop(L, 1);
}
