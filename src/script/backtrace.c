/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks in scripts: frames from the outermost one, the intercepted call last, as in JSON. */
#include "base/buf_text.h"
#include "base/path.h"
#include "query/answer.h"
#include "query/responsible.h"
#include "query/stacks.h"
#include "script/groups.h"

struct backtrace {
	struct script_data *data;
	uint32_t stack;
	unsigned call;
	bool stripped;
	struct stack_frames frames; /* innermost first, without the call */
};

static void find_frames(struct backtrace *b)
{
	struct snapshot *s = b->data->snapshot;
	struct view v = { .model = s->model, .locations = s->locations };
	const struct responsible *r = b->stripped ? responsible_of_view(&v) : NULL;
	size_t left = 0;

	stack_frames_of(&b->frames, &v, b->stack);
	for (size_t i = 0; r && i < b->frames.count; i++) {
		const struct stack_frame *f = &b->frames.rows[i];
		enum frame_kind kind = responsible_kind(r, f->location, f->index);

		if (kind == FRAME_PROGRAM || kind == FRAME_LIBRARY)
			b->frames.rows[left++] = *f;
	}
	/* What an interpreter does for itself has no other frames: better those than none. */
	if (left)
		b->frames.count = left;
	else
		b->stripped = false;
}

static void push(lua_State *L, struct script_data *d, uint32_t stack, unsigned call, bool stripped)
{
	struct backtrace *b = script_new_value(L, &script_backtrace_class, sizeof(*b));

	b->data = d;
	b->stack = stack;
	b->call = call;
	b->stripped = stripped;
	find_frames(b);
}

void script_push_backtrace(lua_State *L, struct script_data *d, uint32_t stack, unsigned call)
{
	push(L, d, stack, call, false);
}

static struct backtrace *check(lua_State *L)
{
	return script_check(L, 1, &script_backtrace_class);
}

bool script_put_stack_id(lua_State *L, int index, struct buf *out)
{
	struct backtrace *b = script_test(L, index, &script_backtrace_class);

	if (b)
		buf_printf(out, "%s%u", out->size ? "," : "", b->stack);
	return b;
}

static int backtrace_gc(lua_State *L)
{
	stack_frames_release(&check(L)->frames);
	return 0;
}

static size_t count_of(const struct backtrace *b)
{
	return b->frames.count + !b->stripped;
}

static int backtrace_len(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)count_of(check(L)));
	return 1;
}

static void set_text(lua_State *L, const char *key, const char *text)
{
	if (!*text)
		return;
	lua_pushstring(L, text);
	lua_setfield(L, -2, key);
}

static void set_number(lua_State *L, const char *key, uint64_t value)
{
	if (!value)
		return;
	lua_pushinteger(L, (lua_Integer)value);
	lua_setfield(L, -2, key);
}

/* A table of what is known of the i-th frame, from 0, outermost first; nil behind the last. */
static void push_frame(lua_State *L, const struct backtrace *b, size_t i)
{
	const struct locations *p = b->data->snapshot->locations;
	struct view v = { .model = b->data->snapshot->model,
			  .locations = b->data->snapshot->locations };
	struct buf *name = script_text(L, TEXT_ONE);
	const struct stack_frame *f;

	if (i >= count_of(b)) {
		lua_pushnil(L);
		return;
	}
	lua_createtable(L, 0, 8);
	if (i == b->frames.count) {
		set_text(L, "name", locations_call(p, b->call));
		set_text(L, "function_name", locations_call(p, b->call));
		return;
	}
	f = &b->frames.rows[b->frames.count - 1 - i];
	if (f->function)
		set_text(L, "function_name", locations_string(p, f->function));
	else
		locations_unnamed(p, f->module, f->address, name);
	set_text(L, "name", f->function ? locations_string(p, f->function) : name->data);
	buf_clear(name);
	stack_frame_label(&v, f, name);
	set_text(L, "label", name->data);
	set_text(L, "source", locations_string(p, f->file));
	set_number(L, "line", f->line);
	set_number(L, "column", f->column);
	set_text(L, "module", locations_module_path(p, f->module));
	set_text(L, "library", path_base(locations_module_path(p, f->module)));
	set_number(L, "address", f->address);
	lua_pushboolean(L, f->inlined);
	lua_setfield(L, -2, "inlined");
}

static bool backtrace_other(lua_State *L)
{
	lua_Integer i = lua_tointeger(L, 2);

	if (!lua_isinteger(L, 2))
		return false;
	push_frame(L, lua_touserdata(L, 1), i < 1 ? SIZE_MAX : (size_t)i - 1);
	return true;
}

/* frames(): a table of all of them. */
static int backtrace_frames(lua_State *L)
{
	struct backtrace *b = check(L);

	lua_createtable(L, (int)count_of(b), 0);
	for (size_t i = 0; i < count_of(b); i++) {
		push_frame(L, b, i);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* strip(): without the frames of allocators, wrappers around them, runtimes, and what starts a
 * program; a stack of nothing else stays whole. */
static int backtrace_strip(lua_State *L)
{
	struct backtrace *b = check(L);

	push(L, b->data, b->stack, b->call, true);
	return 1;
}

static int backtrace_eq(lua_State *L)
{
	struct backtrace *a = script_test(L, 1, &script_backtrace_class);
	struct backtrace *b = script_test(L, 2, &script_backtrace_class);

	lua_pushboolean(L, a && b && a->data == b->data && a->stack == b->stack);
	return 1;
}

/* A line a frame: #00 [library] function [file:line], the outermost first. */
static int backtrace_tostring(lua_State *L)
{
	struct backtrace *b = check(L);
	const struct locations *p = b->data->snapshot->locations;
	struct buf *out = script_text(L, TEXT_ONE);
	size_t count = b->frames.count;

	buf_text(out, "");
	for (size_t i = 0; i < count; i++) {
		const struct stack_frame *f = &b->frames.rows[count - 1 - i];
		const char *module = path_base(locations_module_path(p, f->module));

		buf_printf(out, "%s#%02zu ", i ? "\n" : "", i);
		if (*module)
			buf_printf(out, "[%s] ", module);
		if (f->function)
			buf_text(out, locations_string(p, f->function));
		else
			locations_unnamed(p, f->module, f->address, out);
		if (f->file)
			buf_printf(out, " [%s:%u]", path_base(locations_string(p, f->file)),
				   f->line);
	}
	if (!b->stripped)
		buf_printf(out, "%s#%02zu %s", count ? "\n" : "", count,
			   locations_call(p, b->call));
	lua_pushlstring(L, out->data, out->size);
	return 1;
}

static void id_field(lua_State *L, const struct script_field *f)
{
	struct backtrace *b = lua_touserdata(L, 1);

	lua_pushinteger(L, answer_stack(b->data->snapshot->model, b->stack));
}

static const struct script_field fields[] = {
	{ "id", id_field, 0, "number of the stack, as filters take it; 0: it is not known" },
	{ 0 },
};

static const luaL_Reg meta[] = {
	{ "__gc", backtrace_gc }, { "__len", backtrace_len },
	{ "__eq", backtrace_eq }, { "__tostring", backtrace_tostring },
	{ NULL, NULL },
};

static const luaL_Reg methods[] = {
	{ "len", backtrace_len },
	{ "frames", backtrace_frames },
	{ "strip", backtrace_strip },
	{ NULL, NULL },
};

const struct script_class script_backtrace_class = {
	.name = "a stack",
	.key = "backtrace",
	.meta = meta,
	.methods = methods,
	.fields = fields,
	.other = backtrace_other,
};
