/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of allocations in scripts.  See list.h. */
#include "script/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "query/clock.h"

struct script_list *script_push_list(lua_State *L, struct script_data *d)
{
	struct script_list *l = script_new_value(L, &script_list_class, sizeof(*l));

	l->data = d;
	return l;
}

/* Groups of what has no name cannot be told by an expression. */
static struct choice *choice_of(lua_State *L, const struct script_list *l)
{
	if (!l->choice)
		script_fail(L, "the allocations of the group '%.80s' cannot be told by a filter",
			    l->name);
	return l->choice;
}

/* `c` is in the new list from the start, so that no error loses it. */
struct script_list *script_push_joined(lua_State *L, const struct script_list *l,
				       enum choice_kind kind, struct choice *c)
{
	struct script *s = script_of(L);
	struct script_list *result;

	choice_drop(s->pending); /* of an error that came between */
	s->pending = c;
	result = script_push_list(L, l->data);
	if (c->leaves + choice_of(L, l)->leaves > CHOICE_LEAVES)
		script_fail(L, "the list is put together of too many others");
	s->pending = NULL;
	result->choice = choice_join(kind, choice_hold(l->choice), c);
	return result;
}

struct script_list *script_check_list(lua_State *L, int index)
{
	return script_check(L, index, &script_list_class);
}

size_t script_view_size(const struct held_view *held)
{
	return held && held->view->bits ? held->view->model->allocations.count / 8 : 0;
}

struct held_view *script_list_take(lua_State *L, struct script_list *l)
{
	struct snapshot *s = l->data->snapshot;
	struct err err = { .offset = ERR_NO_OFFSET };
	struct held_view *held = NULL;
	struct filter *f;

	script_steps(L, 1);
	f = choice_filter(choice_of(L, l), &err);
	if (f)
		held = views_take(&s->views, s->model, s->locations, f, &err);
	if (!held)
		script_fail(L, "%s", err.text);
	return held;
}

static void let_go(struct script_list *l)
{
	if (l->held)
		views_give(&l->data->snapshot->views, l->held);
	l->held = NULL;
}

const struct view *script_list_view(lua_State *L, struct script_list *l)
{
	struct script *s = script_of(L);
	struct script_list **place;

	if (l->held)
		return l->held->view;
	l->held = script_list_take(L, l);
	place = &s->held[s->held_next++ % SCRIPT_LISTS_HELD];
	if (*place)
		let_go(*place);
	*place = l;
	l->last_index = 0;
	return l->held->view;
}

static int list_gc(lua_State *L)
{
	struct script *s = script_of(L);
	struct script_list *l = lua_touserdata(L, 1);

	for (unsigned i = 0; i < SCRIPT_LISTS_HELD; i++)
		if (s->held[i] == l)
			s->held[i] = NULL;
	let_go(l);
	l->choice = choice_drop(l->choice);
	free(l->name);
	l->name = NULL;
	return 0;
}

static const struct summary_sums *script_list_sums(lua_State *L, struct script_list *l)
{
	const struct view *v;
	const struct columns *c;

	if (l->counted)
		return &l->sums;
	v = script_list_view(L, l);
	c = &v->model->allocations;
	l->sums = SUMMARY_NOTHING;
	VIEW_EACH(v, 0, c->count, row)
	summary_count(&l->sums, columns_size(c, row), columns_slack_of(c, row),
		      columns_allocated_at(c, row), columns_freed_at(c, row));
	l->counted = true;
	return &l->sums;
}

void script_list_expression(lua_State *L, const struct script_list *l, struct buf *out)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct filter *f = choice_filter(choice_of(L, l), &err);

	if (!f)
		script_fail(L, "%s", err.text);
	filter_print(f, out);
	filter_free(f);
}

/* Fields: the numbers that the sums of a group have, as group_fields.def calls them. */
static void sum_field(lua_State *L, const struct script_field *f)
{
	struct script_list *l = lua_touserdata(L, 1);
	const struct summary_sums *s = script_list_sums(L, l);
	struct model_clock clock = model_clock(l->data->snapshot->model);

	switch (f->which) {
#define PUSH_BYTES(value) lua_pushinteger(L, (lua_Integer)(value))
#define PUSH_COUNT(value) lua_pushinteger(L, (lua_Integer)(value))
#define PUSH_STAMP(value)                                                                          \
	do {                                                                                       \
		if (s->count)                                                                      \
			script_push_moment(L, l->data, value);                                     \
		else                                                                               \
			lua_pushnil(L);                                                            \
	} while (0)
#define PUSH_TICKS(value) script_push_duration(L, (int64_t)clock_duration_ns(&clock, value))
#define SUM(id, name, type, heading, place, from, value, help)                                     \
	case NUMBER_##id:                                                                          \
		PUSH_##type(value);                                                                \
		break;
#include "query/group_fields.def"
#undef SUM
	default:
		lua_pushnil(L);
	}
}

static void name_field(lua_State *L, const struct script_field *f)
{
	struct script_list *l = lua_touserdata(L, 1);

	lua_pushstring(L, l->name);
}

static void backtrace_field(lua_State *L, const struct script_field *f)
{
	struct script_list *l = lua_touserdata(L, 1);

	if (l->stack)
		lua_pushinteger(L, l->stack);
	else
		lua_pushnil(L);
}

static const struct script_field fields[] = {
#define SUM(id, name, type, heading, place, from, value, help)                                     \
	{ name, sum_field, NUMBER_##id, help },
#include "query/group_fields.def"
#undef SUM
	{ "name", name_field, 0, "of a group: what it is called" },
	{ "backtrace_id", backtrace_field, 0, "of a group by stack: number of the stack" },
	{ 0 },
};

/* list[i], from 1; a list that was used last knows where the one before it was. */
static void push_at(lua_State *L, struct script_list *l, lua_Integer i)
{
	const struct view *v = script_list_view(L, l);
	uint32_t count = v->model->allocations.count, row, index = (uint32_t)(i - 1);

	if (i < 1 || i > v->count) {
		lua_pushnil(L);
		return;
	}
	if (!v->bits) {
		row = index;
	} else if (l->last_index && index + 1 == l->last_index + 1) {
		row = view_next(v, l->last_row + 1, count);
	} else if (view_rows(v, index, 1, &row) != 1) {
		lua_pushnil(L);
		return;
	}
	l->last_index = (uint32_t)i;
	l->last_row = row;
	script_push_row(L, l->data, row);
}

static bool list_other(lua_State *L)
{
	if (lua_isinteger(L, 2)) {
		push_at(L, lua_touserdata(L, 1), lua_tointeger(L, 2));
		return true;
	}
	return lua_type(L, 2) == LUA_TSTRING && script_filter_method(L);
}

static int list_len(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);

	lua_pushinteger(L, l->counted ? (lua_Integer)l->sums.count : script_list_view(L, l)->count);
	return 1;
}

/* What joins two lists of one recording. */
static int join_lists(lua_State *L, enum choice_kind kind, bool negative)
{
	struct script_list *a = script_check_list(L, 1), *b = script_check_list(L, 2);
	struct choice *other;

	if (a->data != b->data)
		return script_fail(L, "the two lists are of different recordings");
	other = choice_hold(choice_of(L, b));
	if (negative)
		other = choice_join(CHOICE_NOT, other, NULL);
	script_push_joined(L, a, kind, other);
	return 1;
}

static int list_union(lua_State *L)
{
	return join_lists(L, CHOICE_OR, false);
}

static int list_difference(lua_State *L)
{
	return join_lists(L, CHOICE_AND, true);
}

static int list_intersection(lua_State *L)
{
	return join_lists(L, CHOICE_AND, false);
}

static int list_complement(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1), *result = script_push_list(L, l->data);

	result->choice = choice_join(CHOICE_NOT, choice_hold(choice_of(L, l)), NULL);
	return 1;
}

/* Are they the same allocations? */
static int list_eq(lua_State *L)
{
	struct script_list *a = script_test(L, 1, &script_list_class);
	struct script_list *b = script_test(L, 2, &script_list_class);
	const struct view *v, *w;
	struct held_view *held;
	uint32_t count;
	bool same;

	if (!a || !b || a->data != b->data) {
		lua_pushboolean(L, false);
		return 1;
	}
	held = script_list_take(L, a);
	v = held->view;
	w = script_list_view(L, b);
	same = v->count == w->count;
	count = v->model->allocations.count;
	for (uint32_t i = 0; same && i < (count + 63) / 64; i++)
		same = view_word(v, i) == view_word(w, i);
	views_give(&a->data->snapshot->views, held);
	lua_pushboolean(L, same);
	return 1;
}

static int list_tostring(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);
	uint64_t count = script_list_view(L, l)->count;

	lua_pushfstring(L, "%I allocation%s", (LUAI_UACINT)count, count == 1 ? "" : "s");
	return 1;
}

/* An iteration has a view of its own: what else a script does meanwhile does not end it. */
struct walk {
	struct script_data *data;
	size_t *memory;
	struct held_view *held;
	uint32_t row, count;
};

static void end_walk(struct walk *w)
{
	if (!w->held)
		return;
	*w->memory -= script_view_size(w->held);
	views_give(&w->data->snapshot->views, w->held);
	w->held = NULL;
}

static int walk_gc(lua_State *L)
{
	end_walk(lua_touserdata(L, 1));
	return 0;
}

static int walk_next(lua_State *L)
{
	struct walk *w = lua_touserdata(L, lua_upvalueindex(1));

	if (!w->held)
		return 0;
	w->row = view_next(w->held->view, w->row, w->count);
	if (w->row >= w->count) {
		end_walk(w);
		return 0;
	}
	script_push_row(L, w->data, w->row++);
	return 1;
}

static int list_iter(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);
	struct walk *w = lua_newuserdatauv(L, sizeof(*w), 0);

	*w = (struct walk){ .data = l->data, .memory = &script_of(L)->memory };
	if (luaL_newmetatable(L, "memoir.walk")) {
		lua_pushcfunction(L, walk_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	w->held = script_list_take(L, l);
	*w->memory += script_view_size(w->held);
	w->count = w->held->view->model->allocations.count;
	lua_pushcclosure(L, walk_next, 1);
	return 1;
}

/* for a in list do: the allocation behind the one that was last. */
static int list_call(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);
	const struct view *v = script_list_view(L, l);
	uint32_t count = v->model->allocations.count, row = 0;
	struct script_data *d;

	if (script_row_at(L, 3, &d, &row))
		row++;
	row = view_next(v, row, count);
	if (row >= count)
		return 0;
	script_push_row(L, l->data, row);
	return 1;
}

static int list_where(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);
	const char *expression = luaL_checkstring(L, 2);
	struct err err = { .offset = ERR_NO_OFFSET };
	struct choice *c = choice_new(CHOICE_MEANING, expression, NULL, &script_of(L)->memory);
	struct filter *f = choice_filter(c, &err);

	if (!f) {
		choice_drop(c);
		if (err.offset != ERR_NO_OFFSET)
			return script_fail(L, "%s, at byte %d of '%s'", err.text,
					   (int)err.offset + 1, expression);
		return script_fail(L, "%s", err.text);
	}
	filter_free(f);
	script_push_joined(L, l, CHOICE_AND, c);
	return 1;
}

static int list_data(lua_State *L)
{
	script_push_data(L, script_check_list(L, 1)->data);
	return 1;
}

static int list_filter(lua_State *L)
{
	struct buf *text = script_text(L, TEXT_ONE);

	script_list_expression(L, script_check_list(L, 1), text);
	lua_pushlstring(L, text->data, text->size);
	return 1;
}

/* backtrace(): of a group by stack. */
static int list_backtrace(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);

	if (!l->stack)
		return script_fail(L, "only a group of group_by_backtrace() has one stack");
	script_push_backtrace(L, l->data, l->stack, l->call);
	return 1;
}

static const luaL_Reg meta[] = {
	{ "__gc", list_gc },
	{ "__len", list_len },
	{ "__add", list_union },
	{ "__bor", list_union },
	{ "__sub", list_difference },
	{ "__band", list_intersection },
	{ "__bnot", list_complement },
	{ "__eq", list_eq },
	{ "__tostring", list_tostring },
	{ "__call", list_call },
	{ NULL, NULL },
};

static const luaL_Reg methods[] = {
	{ "len", list_len },   { "iter", list_iter },	  { "where", list_where },
	{ "data", list_data }, { "filter", list_filter }, { "backtrace", list_backtrace },
	{ NULL, NULL },
};

const struct script_class script_list_class = {
	.name = "a list of allocations",
	.key = "list",
	.meta = meta,
	.methods = methods,
	.fields = fields,
	.other = list_other,
	.names = script_filter_names,
};
