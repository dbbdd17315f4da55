/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What there is, for help, completion and docs/scripting.md: made from the tables that the methods
 * themselves are made from. */
#include <stdio.h>
#include <string.h>

#include "answer/question.h"
#include "base/buf_text.h"
#include "base/nearest.h"
#include "export/export.h"
#include "script/list.h"

/* A row of the table on top: {name, argument, help}. */
static void add_row(lua_State *L, const char *name, const char *argument, const char *before,
		    const char *help)
{
	lua_createtable(L, 0, 3);
	lua_pushstring(L, name);
	lua_setfield(L, -2, "name");
	lua_pushstring(L, argument ? argument : "");
	lua_setfield(L, -2, "argument");
	lua_pushfstring(L, "%s%s", before, help);
	lua_setfield(L, -2, "help");
	lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void add_filters(lua_State *L)
{
	struct buf names = { 0 };
	char *at, *next;

	lua_newtable(L);
	script_filter_names(&names);
	for (at = names.data; at && *at; at = next) {
		struct script_filter f;
		const char *argument, *help;
		enum filter_arg type;

		next = strchr(at, '\n');
		*next++ = '\0';
		if (!script_filter_find(at, &f))
			continue;
		type = f.word ? f.word->type : f.row ? f.row->type : ARG_NONE;
		help = f.word ? f.word->help : f.row ? f.row->help : f.field->help;
		argument = type == ARG_YES_NO ? NULL : value_name(type);
		add_row(L, at, argument, f.negative ? "not: " : "", help);
	}
	buf_release(&names);
	lua_setfield(L, -2, "filters");
}

static void add_map_filters(lua_State *L)
{
	char name[80];

	lua_newtable(L);
	for (const struct map_filter_row *r = map_filter_rows; r->name; r++) {
		bool flag = r->type == ARG_CHOICE;

		snprintf(name, sizeof(name), "only_%s", r->name);
		add_row(L, name, flag ? NULL : value_name(r->type), "", r->help);
		snprintf(name, sizeof(name), "only_not_%s", r->name);
		if (flag)
			add_row(L, name, NULL, "not: ", r->help);
	}
	add_row(L, "only_peak_rss_at_least", "SIZE", "", "as only_peak_rss_min");
	add_row(L, "only_peak_rss_at_most", "SIZE", "", "as only_peak_rss_max");
	add_row(L, "only_bytehound", NULL, "", "as only_memoir");
	add_row(L, "only_not_bytehound", NULL, "", "as only_not_memoir");
	lua_setfield(L, -2, "map_filters");
}

/* Fields of every class, by its key. */
static void add_fields(lua_State *L)
{
	lua_newtable(L);
	for (const struct script_class *const *c = script_classes; *c; c++) {
		lua_newtable(L);
		for (const struct script_field *f = (*c)->fields; f && f->name; f++)
			add_row(L, f->name, NULL, "", f->help);
		lua_setfield(L, -2, (*c)->key);
	}
	lua_setfield(L, -2, "fields");
}

static void add_questions(lua_State *L)
{
	lua_newtable(L);
	for (const struct question *const *q = questions; *q; q++)
		add_row(L, (*q)->name, (*q)->filters ? "filters" : "", "", (*q)->help);
	lua_setfield(L, -2, "questions");
	lua_newtable(L);
	for (const struct exporter *const *e = exporters; *e; e++)
		add_row(L, (*e)->name, (*e)->extension, "", (*e)->help);
	lua_setfield(L, -2, "exporters");
	lua_newtable(L);
	for (const struct group_key *k = group_keys; k->name; k++)
		add_row(L, k->name, NULL, "", k->help);
	lua_setfield(L, -2, "group_keys");
}

/* names(value): of a value that is ours, an array of texts; nil of others. */
static int names(lua_State *L)
{
	struct buf *all = script_text(L, TEXT_ONE);
	lua_Integer i = 0;
	char *at, *next;

	script_names(L, 1, all);
	if (!all->size)
		return 0;
	lua_newtable(L);
	for (at = all->data; *at; at = next) {
		next = strchr(at, '\n');
		*next++ = '\0';
		lua_pushstring(L, at);
		lua_rawseti(L, -2, ++i);
	}
	return 1;
}

/* class(value): "list", "map" …; nil of what is not ours. */
static int class_name(lua_State *L)
{
	for (const struct script_class *const *c = script_classes; *c; c++)
		if (script_test(L, 1, *c)) {
			lua_pushstring(L, (*c)->key);
			return 1;
		}
	return 0;
}

/* suggest(text, name, names): the text with what may have been meant of the keys of a table. */
static int suggest(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	struct nearest near = nearest_to(lua_isstring(L, 2) ? lua_tostring(L, 2) : "");

	luaL_checktype(L, 3, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1))
		if (lua_type(L, -2) == LUA_TSTRING)
			nearest_consider(&near, lua_tostring(L, -2));
	lua_pushfstring(L, "%s%s", text, nearest_hint(&near, ""));
	return 1;
}

static int vocabulary(lua_State *L)
{
	lua_newtable(L);
	add_filters(L);
	add_map_filters(L);
	add_fields(L);
	add_questions(L);
	return 1;
}

void script_vocabulary_open(lua_State *L)
{
	lua_pushcfunction(L, vocabulary);
	lua_setfield(L, -2, "vocabulary");
	lua_pushcfunction(L, names);
	lua_setfield(L, -2, "names");
	lua_pushcfunction(L, class_name);
	lua_setfield(L, -2, "class");
	lua_pushcfunction(L, suggest);
	lua_setfield(L, -2, "suggest");
}
