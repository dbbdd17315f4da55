/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* only_…: the methods that narrow a list.
 *
 * Every filter row is one (only_size_min), and every flag (only_leaked, only_not_leaked); the table
 * below has what Bytehound's scripts call them.  All of them are resolved here by their name, none
 * is a function of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "script/groups.h"
#include "script/list.h"

#define BOTH(name, field, type, what)                                                              \
	{ name "_at_least", field " >= $", type, what ", or more" },                               \
	{                                                                                          \
		name "_at_most", field " <= $", type, what ", or less"                             \
	}
#define FOUR(name, field)                                                                          \
	{ name "_larger_or_equal", field " >= $", ARG_SIZE, "it is this large, or larger" },       \
		{ name "_larger", field " > $", ARG_SIZE, "it is larger than this" },              \
		{ name "_smaller_or_equal", field " <= $", ARG_SIZE,                               \
		  "it is this small, or smaller" },                                                \
	{                                                                                          \
		name "_smaller", field " < $", ARG_SIZE, "it is smaller than this"                 \
	}

const struct script_word script_words[] = {
	{ "only_passing_through_function", "function ~ $", ARG_REGEX,
	  "a frame's function matches" },
	{ "only_not_passing_through_function", "function !~ $", ARG_REGEX,
	  "no frame's function matches" },
	{ "only_passing_through_source", "source ~ $", ARG_REGEX, "a frame's source path matches" },
	{ "only_not_passing_through_source", "source !~ $", ARG_REGEX,
	  "no frame's source path matches" },
	{ "only_passing_through_module", "module ~ $", ARG_REGEX,
	  "a frame's program or library matches" },
	{ "only_not_passing_through_module", "module !~ $", ARG_REGEX,
	  "no frame's program or library matches" },
	{ "only_matching_backtraces", "backtrace = $", ARG_IDS,
	  "allocated by one of these stacks" },
	{ "only_not_matching_backtraces", "backtrace != $", ARG_IDS,
	  "allocated by none of these stacks" },
	{ "only_matching_deallocation_backtraces", "deallocation_backtrace = $", ARG_IDS,
	  "freed by one of these stacks" },
	{ "only_not_matching_deallocation_backtraces", "deallocation_backtrace != $", ARG_IDS,
	  "not freed by one of these stacks" },
	BOTH("only_backtrace_length", "backtrace_depth", ARG_COUNT, "so many frames"),
	FOUR("only", "size"),
	FOUR("only_first_size", "first_size"),
	FOUR("only_last_size", "last_size"),
	BOTH("only_address", "address", ARG_ADDRESS, "at this address"),
	{ "only_allocated_after_at_least", "allocated >= $", ARG_TIME,
	  "allocated at this time or later" },
	{ "only_allocated_until_at_most", "allocated <= $", ARG_TIME,
	  "allocated at this time or earlier" },
	{ "only_deallocated_after_at_least", "deallocated >= $", ARG_TIME,
	  "freed at this time or later" },
	{ "only_deallocated_until_at_most", "deallocated <= $", ARG_TIME,
	  "freed at this time or earlier" },
	BOTH("only_alive_for", "lifetime", ARG_DURATION_OR_PERCENT, "lived so long"),
	{ "only_temporary", "not leaked", ARG_NONE, "was freed at some time" },
	BOTH("only_chain_length", "chain_length", ARG_COUNT, "blocks in its realloc chain"),
	BOTH("only_chain_alive_for", "chain_lifetime", ARG_DURATION_OR_PERCENT,
	     "its realloc chain lived so long"),
	BOTH("only_position_in_chain", "position_in_chain", ARG_COUNT,
	     "its place in its realloc chain, from 0"),
	BOTH("only_group_allocations", "group_allocations", ARG_COUNT,
	     "its stack allocated so often"),
	BOTH("only_group_interval", "group_interval", ARG_DURATION_OR_PERCENT,
	     "its stack allocated over so long a time"),
	BOTH("only_group_max_total_usage_first_seen", "group_max_total_usage_first_seen", ARG_TIME,
	     "when its stack had most alive first"),
	BOTH("only_group_leaked_allocations", "group_leaked_allocations", ARG_COUNT_OR_PERCENT,
	     "so many of its stack's were never freed"),
	{ "only_ptmalloc_mmaped", "mmapped", ARG_NONE, "glibc made a mapping for it alone" },
	{ "only_ptmalloc_not_mmaped", "(main_arena or other_arena) and not mmapped", ARG_NONE,
	  "it is in one of glibc's arenas" },
	{ "only_ptmalloc_from_main_arena", "main_arena", ARG_NONE,
	  "it is from glibc's main arena" },
	{ "only_ptmalloc_not_from_main_arena", "other_arena", ARG_NONE,
	  "it is from another of glibc's arenas" },
	{ "only_with_marker", "marker = $", ARG_NUMBER,
	  "allocated while this marker was the last one set" },
	{ "only_from_maps", "map = $", ARG_IDS, "it was in one of these memory maps" },
	{ "only_freed_at_once", "temporary", ARG_NONE, "the next event of its thread freed it" },
	{ "only_not_freed_at_once", "not temporary", ARG_NONE,
	  "the next event of its thread did not free it" },
	{ 0 },
};

bool script_filter_find(const char *name, struct script_filter *ret)
{
	*ret = (struct script_filter){ 0 };
	if (strncmp(name, "only_", 5) != 0)
		return false;
	for (const struct script_word *w = script_words; w->name; w++)
		if (!strcmp(w->name, name)) {
			ret->word = w;
			return true;
		}
	name += 5;
	if (!strncmp(name, "not_", 4)) {
		ret->negative = true;
		name += 4;
	}
	/* That word above is Bytehound's, and means something else. */
	if (strchr(name, '-') || !strcmp(name, "temporary"))
		return false;
	ret->field = filter_field_find(name);
	if (ret->field && ret->field->class != FIELD_FLAG)
		ret->field = NULL;
	if (!ret->field)
		ret->row = filter_row_find(name);
	if (ret->row && (!*ret->row->meaning || ret->row->type == ARG_EXPRESSION ||
			 (ret->negative && ret->row->type != ARG_YES_NO)))
		ret->row = NULL;
	return ret->field || ret->row;
}

void script_filter_names(struct buf *out)
{
	struct script_filter f;

	for (const struct script_word *w = script_words; w->name; w++)
		buf_printf(out, "%s\n", w->name);
	for (const struct filter_field *field = filter_fields; field->name; field++)
		if (field->class == FIELD_FLAG && strcmp(field->name, "temporary") != 0) {
			buf_printf(out, "only_%s\nonly_not_%s\n", field->name, field->name);
		}
	for (const struct filter_row *row = filter_rows; row->name; row++) {
		size_t start = out->size;

		buf_printf(out, "only_%s", row->name);
		if (script_filter_find(out->data + start, &f) && f.row)
			buf_char(out, '\n');
		else
			out->data[out->size = start] = '\0';
	}
}

/* Numbers of what a list, a group, a stack or a map is, with commas between. */
static void put_ids(lua_State *L, int index, enum filter_arg type, bool maps, struct buf *out)
{
	struct script_list *list;

	index = lua_absindex(L, index);
	if (lua_isinteger(L, index)) {
		buf_printf(out, "%s%" PRId64, out->size ? "," : "",
			   (int64_t)lua_tointeger(L, index));
	} else if (lua_type(L, index) == LUA_TSTRING) {
		buf_printf(out, "%s%s", out->size ? "," : "", lua_tostring(L, index));
	} else if (lua_istable(L, index)) {
		for (lua_Integer i = 1; lua_geti(L, index, i) != LUA_TNIL; i++) {
			put_ids(L, -1, type, maps, out);
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	} else if (maps) {
		if (!script_put_map_ids(L, index, out))
			script_fail(L, "a map, a list of maps or their numbers are needed here");
	} else if ((list = script_test(L, index, &script_list_class))) {
		script_put_stacks(L, list, out);
	} else if (!script_put_group_ids(L, index, out) && !script_put_stack_id(L, index, out)) {
		script_fail(L, "a stack, a list, groups or their numbers are needed here");
	}
}

static bool is_share(lua_State *L, int index, enum filter_arg type)
{
	lua_Number n = lua_tonumber(L, index);

	return type == ARG_COUNT_OR_PERCENT && lua_type(L, index) == LUA_TNUMBER &&
	       !lua_isinteger(L, index) && n >= 0 && n <= 1;
}

const char *script_filter_value(lua_State *L, int index, enum filter_arg type, const char *name)
{
	struct buf *out = script_text(L, TEXT_ONE);
	int64_t *ns = script_test(L, index, &script_duration_class);

	buf_text(out, "");
	if (type == ARG_IDS) {
		put_ids(L, index, type, strstr(name, "map") != NULL, out);
	} else if (ns) {
		if (type != ARG_TIME && type != ARG_DURATION && type != ARG_DURATION_OR_PERCENT)
			script_fail(L, "%s takes no duration", name);
		if (*ns < 0)
			script_fail(L, "%s: a duration below 0", name);
		buf_printf(out, "%" PRId64 "ns", *ns);
	} else if (lua_isboolean(L, index)) {
		buf_text(out, lua_toboolean(L, index) ? "yes" : "no");
	} else if (is_share(L, index, type)) {
		buf_printf(out, "%.6f%%", lua_tonumber(L, index) * 100);
	} else if (lua_isinteger(L, index)) {
		if (lua_tointeger(L, index) < 0 && type != ARG_ADDRESS)
			script_fail(L, "%s: %" PRId64 " is below 0", name,
				    (int64_t)lua_tointeger(L, index));
		if (type == ARG_ADDRESS)
			buf_printf(out, "%#" PRIx64, (uint64_t)lua_tointeger(L, index));
		else
			buf_printf(out, "%" PRId64, (int64_t)lua_tointeger(L, index));
	} else if (lua_type(L, index) == LUA_TNUMBER) {
		lua_Number n = lua_tonumber(L, index);

		if (n == floor(n) && fabs(n) < 9e15)
			buf_printf(out, "%.0f", n);
		else
			buf_printf(out, "%.9f", n);
	} else if (lua_type(L, index) == LUA_TSTRING) {
		buf_text(out, lua_tostring(L, index));
	} else {
		script_fail(L, "%s needs a value, such as %s", name,
			    value_name(type) ? value_name(type) : "text");
	}
	return out->data;
}

static size_t *memory_of(lua_State *L)
{
	return &script_of(L)->memory;
}

/* Stacks of nothing choose nothing. */
static struct choice *nothing(lua_State *L, bool negative)
{
	struct choice *all = choice_new(CHOICE_ALL, NULL, NULL, memory_of(L));

	return negative ? all : choice_join(CHOICE_NOT, all, NULL);
}

static struct choice *word_choice(lua_State *L, const struct script_word *w, const char *name,
				  int first)
{
	const char *value;

	if (w->type == ARG_NONE)
		return choice_new(CHOICE_MEANING, w->meaning, NULL, memory_of(L));
	if (lua_isnoneornil(L, first))
		script_fail(L, "%s needs a value: %s", name, w->help);
	value = script_filter_value(L, first, w->type, name);
	if (w->type == ARG_IDS && !*value)
		return nothing(L, strstr(w->meaning, "!=") != NULL);
	return choice_new(CHOICE_MEANING, w->meaning, value, memory_of(L));
}

static struct choice *row_choice(lua_State *L, const struct script_filter *f, const char *name,
				 int first)
{
	const struct filter_row *row = f->row;
	const char *value;

	if (row->type == ARG_YES_NO) {
		bool yes = lua_isnoneornil(L, first) || lua_toboolean(L, first);

		return choice_new(CHOICE_ROW, row->name, yes != f->negative ? "yes" : "no",
				  memory_of(L));
	}
	if (lua_isnoneornil(L, first))
		script_fail(L, "%s needs a value: %s", name, row->help);
	value = script_filter_value(L, first, row->type, name);
	if (row->type == ARG_IDS && !*value)
		return nothing(L, strstr(row->meaning, "!=") != NULL);
	return choice_new(CHOICE_ROW, row->name, value, memory_of(L));
}

static struct choice *one_choice(lua_State *L, const struct script_filter *f, const char *name,
				 int first)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct filter *made;
	struct choice *c;

	if (f->word) {
		c = word_choice(L, f->word, name, first);
	} else if (f->row) {
		c = row_choice(L, f, name, first);
	} else {
		bool yes = lua_isnoneornil(L, first) || lua_toboolean(L, first);

		c = choice_new(CHOICE_MEANING, f->field->name, NULL, memory_of(L));
		if (yes == f->negative)
			c = choice_join(CHOICE_NOT, c, NULL);
	}
	made = choice_filter(c, &err);
	if (!made) {
		choice_drop(c);
		script_fail(L, "%s: %s", name, err.text);
	}
	filter_free(made);
	return c;
}

/* only_alive_at({a, b}): all of them. */
static bool takes_moments(const struct script_filter *f)
{
	return f->row && !strcmp(f->row->name, "alive_at");
}

/* The argument is at index 2. */
struct choice *script_filter_choices(lua_State *L, const struct script_filter *f, const char *name)
{
	struct script *s = script_of(L);
	struct choice *all = NULL;

	if (!takes_moments(f) || !lua_istable(L, 2))
		return one_choice(L, f, name, 2);
	for (lua_Integer i = 1; lua_geti(L, 2, i) != LUA_TNIL; i++) {
		struct choice *c;

		if (i == 1)
			choice_drop(s->pending); /* of an error that came between */
		s->pending = all;
		if (i > CHOICE_LEAVES)
			script_fail(L, "%s: too many moments", name);
		c = one_choice(L, f, name, lua_gettop(L));
		s->pending = NULL;
		all = all ? choice_join(CHOICE_AND, all, c) : c;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return all ? all : choice_new(CHOICE_ALL, NULL, NULL, memory_of(L));
}

static int call_filter(lua_State *L)
{
	const char *name = lua_tostring(L, lua_upvalueindex(1));
	struct script_list *l = script_check_list(L, 1);
	struct script_filter f;

	script_filter_find(name, &f);
	lua_settop(L, 2);
	script_push_joined(L, l, CHOICE_AND, script_filter_choices(L, &f, name));
	return 1;
}

bool script_filter_method(lua_State *L)
{
	struct script_filter f;

	if (!script_filter_find(lua_tostring(L, 2), &f))
		return false;
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, call_filter, 1);
	script_bind(L);
	return true;
}
