/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every exporter as a method of lists and recordings: list:export("pprof", {measure = "leaked"})
 * is the bytes of the file. */
#include <errno.h>
#include <string.h>

#include "answer/ask.h"
#include "base/buf.h"
#include "base/nearest.h"
#include "base/path.h"
#include "base/sink.h"
#include "export/export.h"
#include "script/list.h"

/* A sink as a value, so that an error closes it; bytes are counted as the state's. */
struct exporting {
	lua_State *L;
	struct sink sink;
	struct buf out;
	struct snapshot *snapshot;
	struct held_view *held;
	size_t *memory, counted;
};

static const char exporting_key;

static int exporting_gc(lua_State *L)
{
	struct exporting *x = lua_touserdata(L, 1);

	if (x->sink.write)
		sink_cancel(&x->sink);
	x->sink.write = NULL;
	buf_release(&x->out);
	*x->memory -= x->counted;
	x->counted = 0;
	if (x->held)
		views_give(&x->snapshot->views, x->held);
	x->held = NULL;
	return 0;
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct exporting *x = context;
	struct script *s = script_of(x->L);
	size_t limit = s->options.limits.memory;

	if (s->options.stop && atomic_load_explicit(s->options.stop, memory_order_relaxed))
		return -EINTR;
	if (limit && s->memory + size > limit)
		return -ENOMEM;
	buf_add(&x->out, bytes, size);
	s->memory += size;
	x->counted += size;
	return 0;
}

static const struct exporter *check_format(lua_State *L, int index)
{
	const char *name = luaL_checkstring(L, index);
	const struct exporter *e = exporter_find(name);
	struct nearest near = nearest_to(name);

	for (const struct exporter *const *each = exporters; !e && *each; each++)
		nearest_consider(&near, (*each)->name);
	if (!e)
		script_fail(L, "there is no format '%.60s'%s", name,
			    nearest_hint(&near, "; help('export') lists them"));
	return e;
}

/* A member of the table at 3 as a text, or NULL. */
static const char *option(lua_State *L, const char *name)
{
	const char *text = NULL;

	if (lua_istable(L, 3)) {
		lua_getfield(L, 3, name);
		text = lua_tostring(L, -1); /* the table keeps it */
		lua_pop(L, 1);
	}
	return text;
}

static bool flag(lua_State *L, const char *name)
{
	bool yes = false;

	if (lua_istable(L, 3)) {
		lua_getfield(L, 3, name);
		yes = lua_toboolean(L, -1);
		lua_pop(L, 1);
	}
	return yes;
}

/* A moment or a duration of the options, in ns. */
static bool option_ns(lua_State *L, const struct model *m, const char *name, uint64_t *ret_ns)
{
	const char *text;
	bool given = false;

	if (!lua_istable(L, 3))
		return false;
	if (lua_getfield(L, 3, name) != LUA_TNIL) {
		text = script_filter_value(L, lua_gettop(L), ARG_TIME, name);
		given = ask_time_text(text, m, ret_ns);
		if (!given)
			script_fail(L, "export: %s is no time: '%.40s'", name, text);
	}
	lua_pop(L, 1);
	return given;
}

static struct measuring check_measure(lua_State *L, const struct model *m)
{
	const char *word = option(L, "measure");
	uint64_t at_ns = 0, below_ns = 0;
	bool at = option_ns(L, m, "at", &at_ns), below = option_ns(L, m, "below", &below_ns);
	enum measure measure = word && !strcmp(word, "alive") ? MEASURE_ALIVE_AT
			       : word			      ? measure_find(word)
			       : at			      ? MEASURE_ALIVE_AT
			       : below			      ? MEASURE_SHORT_LIVED
							      : MEASURE_ALLOCATED;

	if (measure == MEASURE_COUNT)
		script_fail(L, "export: there is no measure '%.60s'", word);
	if (measure != MEASURE_PINNED && measure_rows[measure].needs_time != at)
		script_fail(L, "export: a moment (at) and measure=alive go together");
	if (measure_rows[measure].needs_duration != below)
		script_fail(L, "export: a duration (below) and measure=short_lived go together");
	return measuring_of(m, measure, at ? at_ns : below_ns);
}

/* list:export(format [, options]) */
static int list_export(lua_State *L)
{
	struct script_list *l = script_check_list(L, 1);
	const struct exporter *e = check_format(L, 2);
	struct snapshot *snapshot = l->data->snapshot;
	const char *program = model_info(snapshot->model, "executable");
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *title = option(L, "title");
	struct measuring measuring = check_measure(L, snapshot->model);
	bool by_count = flag(L, "by_count"), groups = flag(L, "groups");
	bool table = flag(L, "stack_table");
	struct exporting *x = lua_newuserdatauv(L, sizeof(*x), 0);
	struct export what;
	int error;

	memset(x, 0, sizeof(*x));
	x->L = L;
	x->memory = &script_of(L)->memory;
	if (lua_rawgetp(L, LUA_REGISTRYINDEX, &exporting_key) == LUA_TNIL) {
		lua_pop(L, 1);
		lua_newtable(L);
		lua_pushcfunction(L, exporting_gc);
		lua_setfield(L, -2, "__gc");
		lua_pushvalue(L, -1);
		lua_rawsetp(L, LUA_REGISTRYINDEX, &exporting_key);
	}
	lua_setmetatable(L, -2);
	x->snapshot = snapshot;
	x->held = script_list_take(L, l);
	what = (struct export){ .view = x->held->view,
				.measuring = measuring,
				.by_count = by_count,
				.groups = groups,
				.stack_table = table,
				.title = title	   ? title
					 : program ? path_base(program)
						   : "program" };
	locations_resolve_all(snapshot->locations);
	sink_to_function(&x->sink, take_bytes, x, e->gzip ? SINK_GZIP : SINK_PLAIN);
	error = e->write(&what, &x->sink, &err);
	if (!error || x->sink.error)
		error = sink_finish(&x->sink, &err);
	else
		sink_cancel(&x->sink);
	x->sink.write = NULL;
	script_steps(L, 1);
	if (error)
		return script_fail(L, "%s: %s", e->name, err.text);
	lua_pushlstring(L, x->out.data ? x->out.data : "", x->out.size);
	return 1;
}

void script_exporting_open(lua_State *L)
{
	lua_getfield(L, -1, script_list_class.key);
	lua_pushcfunction(L, list_export);
	lua_setfield(L, -2, "export");
	lua_pop(L, 1);
}
