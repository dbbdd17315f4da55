/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups of a list's allocations in scripts: groups[i] is a list, which knows its sums.
 *
 * The engine groups once, when the groups are first looked at; sorting, taking and choosing give
 * new lists of positions in that.  A group is a list again: its allocations are those of the whole
 * list that its key chooses. */
#include "script/groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/responsible.h"

/* What several values have in common. */
struct grouped {
	unsigned refs;
	struct script_data *data;
	struct choice *choice;
	struct held_view *held;
	struct groups *groups;
	struct groups *stacks; /* of the same; NULL: nobody needed them yet */
	size_t size, *memory;  /* counted as the state's */
};

struct script_groups {
	struct grouped *of;
	uint32_t *rows; /* positions in of->groups */
	uint32_t count;
	size_t *memory;
};

static struct grouped *grouped_drop(struct grouped *g)
{
	if (!g || --g->refs)
		return NULL;
	*g->memory -= g->size;
	groups_free(g->groups);
	groups_free(g->stacks);
	views_give(&g->data->snapshot->views, g->held);
	choice_drop(g->choice);
	free(g);
	return NULL;
}

static struct script_groups *check(lua_State *L, int index)
{
	return script_check(L, index, &script_groups_class);
}

static int groups_gc(lua_State *L)
{
	struct script_groups *g = lua_touserdata(L, 1);

	g->of = grouped_drop(g->of);
	if (g->rows)
		*g->memory -= (size_t)g->count * sizeof(*g->rows);
	free(g->rows);
	g->rows = NULL;
	return 0;
}

/* Another list of positions, with room for as many. */
static struct script_groups *push_groups(lua_State *L, struct grouped *of, uint32_t room)
{
	struct script_groups *g = script_new_value(L, &script_groups_class, sizeof(*g));

	g->of = of;
	of->refs++;
	g->rows = xcalloc((size_t)room + 1, sizeof(*g->rows));
	g->count = room;
	g->memory = &script_of(L)->memory;
	*g->memory += (size_t)room * sizeof(*g->rows);
	return g;
}

/* list:group_by([key]) */
static int list_group_by(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);
	const struct group_key *key = group_key_find(luaL_optstring(L, 2, "stack"));
	struct script_groups *g;
	struct held_view *held;
	struct grouped *of;

	if (!key)
		return script_fail(L, "there are no groups by '%.60s'; help('group_by') lists them",
				   lua_tostring(L, 2));
	lua_settop(L, 2);
	/* An empty one first, so that nothing is lost where there is no memory for a value. */
	g = script_new_value(L, &script_groups_class, sizeof(*g));
	g->memory = &script_of(L)->memory;
	held = script_list_take(L, l);
	of = xcalloc(1, sizeof(*of));
	of->refs = 1;
	of->data = l->data;
	of->choice = choice_hold(l->choice); /* it was taken, so there is one */
	of->held = held;
	of->groups = groups_new(held->view, key);
	of->memory = g->memory;
	of->size = script_view_size(held) + of->groups->count * sizeof(struct group);
	*of->memory += of->size;
	g->of = of;
	g->count = of->groups->count;
	g->rows = xcalloc((size_t)g->count + 1, sizeof(*g->rows));
	*g->memory += (size_t)g->count * sizeof(*g->rows);
	for (uint32_t i = 0; i < g->count; i++)
		g->rows[i] = i;
	return 1;
}

static int list_group_by_backtrace(lua_State *L)
{
	lua_settop(L, 1);
	return list_group_by(L);
}

void script_put_stacks(lua_State *L, struct script_list *l, struct buf *out)
{
	const struct view *v;
	struct groups *groups;

	if (l->stack) {
		buf_printf(out, "%s%" PRIu32, out->size ? "," : "", l->stack);
		return;
	}
	v = script_list_view(L, l);
	groups = groups_new(v, group_key_find("stack"));
	for (uint32_t i = 0; i < groups->count; i++)
		buf_printf(out, "%s%" PRIu32, out->size ? "," : "", groups->rows[i].id);
	groups_free(groups);
}

bool script_put_group_ids(lua_State *L, int index, struct buf *out)
{
	struct script_groups *g = script_test(L, index, &script_groups_class);

	if (!g)
		return false;
	if (g->of->groups->key->kind != GROUP_STACK)
		script_fail(L, "these groups are not by stack");
	for (uint32_t i = 0; i < g->count; i++)
		buf_printf(out, "%s%" PRIu32, out->size ? "," : "",
			   g->of->groups->rows[g->rows[i]].id);
	return true;
}

/* `function = malloc` is also what calls are asked for by; a frame of that name is in a module. */
static bool is_call(const struct locations *p, const char *name)
{
	bool found = false;

	for (unsigned call = 0; call < ANSWER_CALLS && !found; call++)
		found = !strcmp(locations_call(p, call), name);
	return found;
}

/* The stacks whose responsible frame has no name, and is where this group's is. */
static void put_unnamed_stacks(struct grouped *of, const struct group *group, struct buf *out)
{
	const struct responsible *r = responsible_of_view(of->held->view);
	struct responsible_frame f;

	if (!of->stacks)
		of->stacks = groups_new(of->held->view, group_key_find("stack"));
	for (uint32_t i = 0; i < of->stacks->count; i++) {
		uint32_t stack = of->stacks->rows[i].id;

		if (responsible_find(r, stack, &f) &&
		    !responsible_unit_function(r, responsible_unit(r, &f)) &&
		    responsible_unit_location(r, responsible_unit(r, &f)) == group->line)
			buf_printf(out, "%s%" PRIu32, out->size ? "," : "", stack);
	}
}

/* What chooses the allocations of a group, as an expression and its value: NULL if none does. */
static const char *key_meaning(lua_State *L, struct grouped *of, const struct group *group,
			       struct buf *value)
{
	const struct model *m = of->data->snapshot->model;
	const struct locations *p = of->data->snapshot->locations;
	struct buf *meaning = script_text(L, TEXT_TWO);
	uint64_t low, high, decade = 1;

	switch (of->groups->key->kind) {
	case GROUP_STACK:
		buf_printf(value, "%" PRIu32, group->id);
		return "backtrace = $";
	case GROUP_RESPONSIBLE:
		if (!group->id && group->line) {
			put_unnamed_stacks(of, group, value);
			return "backtrace = $";
		}
		if (!group->id)
			return NULL;
		groups_label(of->groups, group, value);
		return "responsible = $";
	case GROUP_FUNCTION:
	case GROUP_MODULE:
		if (!group->id)
			return NULL;
		groups_label(of->groups, group, value);
		if (of->groups->key->kind == GROUP_FUNCTION && is_call(p, value->data))
			return "frame(function = $ and module ~ \".\")";
		return of->groups->key->kind == GROUP_FUNCTION ? "function = $" : "module = $";
	case GROUP_THREAD:
		buf_printf(value, "%" PRIu64, (uint64_t)m->tables.threads.rows[group->id].tid);
		return "thread = $";
	case GROUP_CALL:
		buf_text(value, locations_call(p, group->id));
		return "call = $";
	case GROUP_SIZE:
	case GROUP_SIZE_CLASS:
		group_size_bounds(of->groups->key->kind, group->id, &low, &high);
		buf_printf(meaning, "size >= %" PRIu64 " and size <= %" PRIu64, low, high);
		return meaning->data;
	case GROUP_LIFETIME:
		if (group->id == GROUP_NEVER_FREED)
			return "leaked";
		for (uint32_t i = 0; i < group->id + 2; i++)
			decade *= 10;
		buf_printf(meaning,
			   "not leaked and lifetime >= %" PRIu64 "ns and lifetime < %" PRIu64 "ns",
			   group->id ? decade : 0, decade * 10);
		return meaning->data;
	case GROUP_SOURCE:
		break;
	}
	return NULL;
}

/* Pushes a group as a list. */
static void push_group(lua_State *L, struct script_groups *g, uint32_t i)
{
	const struct group *group = &g->of->groups->rows[g->rows[i]];
	struct buf *text = script_text(L, TEXT_ONE);
	struct script_list *l = script_push_list(L, g->of->data);
	const char *meaning;

	groups_label(g->of->groups, group, text);
	l->name = xmemdup0(text->data ? text->data : "", text->size);
	buf_clear(text);
	buf_text(text, "");
	meaning = key_meaning(L, g->of, group, text);
	if (meaning)
		l->choice = choice_join(
			CHOICE_AND, choice_hold(g->of->choice),
			choice_new(CHOICE_MEANING, meaning, text->data, &script_of(L)->memory));
	l->sums = group->matched;
	l->counted = true;
	l->place = i + 1;
	if (g->of->groups->key->kind == GROUP_STACK) {
		l->stack = group->id;
		l->call = group->call;
	}
}

static bool groups_other(lua_State *L)
{
	struct script_groups *g = lua_touserdata(L, 1);
	lua_Integer i = lua_tointeger(L, 2);

	if (!lua_isinteger(L, 2))
		return false;
	if (i < 1 || i > g->count)
		lua_pushnil(L);
	else
		push_group(L, g, (uint32_t)i - 1);
	return true;
}

static int groups_len(lua_State *L)
{
	lua_pushinteger(L, check(L, 1)->count);
	return 1;
}

static int groups_next(lua_State *L)
{
	struct script_groups *g = check(L, lua_upvalueindex(1));
	lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));

	if (i >= g->count)
		return 0;
	lua_pushinteger(L, i + 1);
	lua_replace(L, lua_upvalueindex(2));
	push_group(L, g, (uint32_t)i);
	return 1;
}

/* for group in groups do: the one behind the last. */
static int groups_call(lua_State *L)
{
	struct script_groups *g = check(L, 1);
	struct script_list *last = script_test(L, 3, &script_list_class);
	uint32_t i = last ? last->place : 0;

	if (i >= g->count)
		return 0;
	push_group(L, g, i);
	return 1;
}

static int groups_iter(lua_State *L)
{
	check(L, 1);
	lua_settop(L, 1);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, groups_next, 2);
	return 1;
}

static int groups_tostring(lua_State *L)
{
	uint32_t count = check(L, 1)->count;

	lua_pushfstring(L, "%d group%s", (int)count, count == 1 ? "" : "s");
	return 1;
}

/* Equal keys stay in the order that they have. */
struct sorting {
	const struct groups *groups;
	struct group_sort by;
	bool descending;
};

static uint64_t key_of(const struct sorting *s, uint32_t row)
{
	const struct group *g = &s->groups->rows[row];
	const struct summary_sums *sums = s->by.part == PART_ALL    ? &g->all
					  : s->by.part == PART_SELF ? &g->self
								    : &g->matched;

	return s->by.number == NUMBER_KEY ? g->id : group_sum(sums, s->by.number);
}

struct sorted {
	uint64_t key;
	uint32_t place, row;
};

static int compare(const void *x, const void *y)
{
	const struct sorted *a = x, *b = y;

	if (a->key == b->key)
		return a->place < b->place ? -1 : a->place > b->place;
	return a->key < b->key ? -1 : 1;
}

/* groups:sort_by(number [, "asc"]): by a number of the groups, the largest first. */
static int groups_sort_by(lua_State *L)
{
	struct script_groups *g = check(L, 1), *result;
	const char *name = luaL_checkstring(L, 2);
	struct sorting how = { .groups = g->of->groups, .descending = true };
	struct sorted *items;

	if (!group_sort_find(g->of->groups->key, name, &how.by) ||
	    how.by.number == NUMBER_PEAK_AT || how.by.number == NUMBER_PEAK_SIZE ||
	    how.by.number == NUMBER_PEAK_COUNT)
		return script_fail(L, "groups cannot be sorted by '%.60s'", name);
	if (!lua_isnoneornil(L, 3) && !sort_order(luaL_checkstring(L, 3), &how.descending))
		return script_fail(L, "the order is asc or dsc, not '%.60s'", lua_tostring(L, 3));
	result = push_groups(L, g->of, g->count);
	items = xcalloc((size_t)g->count + 1, sizeof(*items));
	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t key = key_of(&how, g->rows[i]);

		items[i] = (struct sorted){ how.descending ? ~key : key, i, g->rows[i] };
	}
	qsort(items, g->count, sizeof(*items), compare);
	for (uint32_t i = 0; i < g->count; i++)
		result->rows[i] = items[i].row;
	free(items);
	return 1;
}

static int groups_take(lua_State *L)
{
	struct script_groups *g = check(L, 1), *result;
	lua_Integer n = luaL_checkinteger(L, 2);
	uint32_t count = n < 0 ? 0 : n < g->count ? (uint32_t)n : g->count;

	result = push_groups(L, g->of, count);
	memcpy(result->rows, g->rows, count * sizeof(*g->rows));
	return 1;
}

/* Those whose number is in a range, both ends included. */
static int choose(lua_State *L, bool (*fits)(const struct group *g, uint64_t bound), uint64_t bound)
{
	struct script_groups *g = check(L, 1), *result = push_groups(L, g->of, g->count);
	uint32_t count = 0;

	for (uint32_t i = 0; i < g->count; i++)
		if (fits(&g->of->groups->rows[g->rows[i]], bound))
			result->rows[count++] = g->rows[i];
	*result->memory -= (size_t)(result->count - count) * sizeof(*g->rows);
	result->count = count;
	return 1;
}

static bool all_leaked(const struct group *g, uint64_t bound)
{
	return g->matched.leaked_count == g->matched.count;
}

static bool count_fits(const struct group *g, uint64_t bound)
{
	return g->matched.count >= bound;
}

static bool size_fits(const struct group *g, uint64_t bound)
{
	return g->matched.bytes >= bound;
}

static int groups_only_all_leaked(lua_State *L)
{
	return choose(L, all_leaked, 0);
}

static int groups_only_count_at_least(lua_State *L)
{
	lua_Integer n = luaL_checkinteger(L, 2);

	return choose(L, count_fits, n < 0 ? 0 : (uint64_t)n);
}

static int groups_only_size_at_least(lua_State *L)
{
	const char *text = script_filter_value(L, 2, ARG_SIZE, "only_size_at_least");
	struct err err = { .offset = ERR_NO_OFFSET };
	struct value v;
	uint64_t bytes;

	if (value_parse(&v, ARG_SIZE, text, &err))
		return script_fail(L, "only_size_at_least: %s", err.text);
	bytes = v.number;
	value_release(&v);
	return choose(L, size_fits, bytes);
}

/* ungroup(): one list of what is in the groups. */
static int groups_ungroup(lua_State *L)
{
	struct script_groups *g = check(L, 1);
	struct buf *ids = script_text(L, TEXT_ONE);
	struct script_list whole = { .data = g->of->data, .choice = g->of->choice };
	struct script *s = script_of(L);
	struct choice *c;

	if (g->of->groups->key->kind != GROUP_STACK)
		return script_fail(L, "only groups by stack can be ungrouped");
	buf_text(ids, "");
	script_put_group_ids(L, 1, ids);
	c = g->count
		    ? choice_new(CHOICE_MEANING, "backtrace = $", ids->data, &s->memory)
		    : choice_join(CHOICE_NOT, choice_new(CHOICE_ALL, NULL, NULL, &s->memory), NULL);
	script_push_joined(L, &whole, CHOICE_AND, c);
	return 1;
}

static const luaL_Reg meta[] = {
	{ "__gc", groups_gc },	   { "__len", groups_len }, { "__tostring", groups_tostring },
	{ "__call", groups_call }, { NULL, NULL },
};

static const luaL_Reg methods[] = {
	{ "len", groups_len },
	{ "iter", groups_iter },
	{ "sort_by", groups_sort_by },
	{ "take", groups_take },
	{ "only_all_leaked", groups_only_all_leaked },
	{ "only_count_at_least", groups_only_count_at_least },
	{ "only_size_at_least", groups_only_size_at_least },
	{ "ungroup", groups_ungroup },
	{ NULL, NULL },
};

const struct script_class script_groups_class = {
	.name = "a list of groups",
	.key = "groups",
	.meta = meta,
	.methods = methods,
	.other = groups_other,
};

void script_groups_open(lua_State *L)
{
	static const luaL_Reg of_lists[] = {
		{ "group_by", list_group_by },
		{ "group_by_backtrace", list_group_by_backtrace },
		{ NULL, NULL },
	};

	lua_getfield(L, -1, script_list_class.key);
	luaL_setfuncs(L, of_lists, 0);
	lua_pop(L, 1);
}
