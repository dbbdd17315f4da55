/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Single allocations and their stacks in scripts.
 *
 * A loop over a recording makes one of these for every row, so a row is nothing but its number;
 * what it has is read when it is asked for.  Its fields are those of query/fields.def, the flags of
 * query/filter.h, and what follows below. */
#include "base/buf_text.h"
#include "base/json.h"
#include "base/path.h"
#include "query/allocator.h"
#include "query/answer.h"
#include "query/fields.h"
#include "query/responsible.h"
#include "query/stacks.h"
#include "script/groups.h"

struct row {
	struct script_data *data;
	uint32_t row;
};

void script_push_row(lua_State *L, struct script_data *d, uint32_t row)
{
	struct row *r = script_new_value(L, &script_row_class, sizeof(*r));

	r->data = d;
	r->row = row;
}

bool script_row_at(lua_State *L, int index, struct script_data **ret_data, uint32_t *ret_row)
{
	struct row *r = script_test(L, index, &script_row_class);

	if (!r)
		return false;
	*ret_data = r->data;
	*ret_row = r->row;
	return true;
}

static const struct columns *columns_of(const struct row *r)
{
	return &r->data->snapshot->model->allocations;
}

static void number_field(lua_State *L, const struct script_field *f)
{
	static const enum filter_arg types[] = {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help) type,
#include "query/fields.def"
#undef NUMBER
	};
	const struct row *r = lua_touserdata(L, 1);
	const struct model *m = r->data->snapshot->model;
	struct model_clock clock;
	uint64_t value;

	if (f->which == ROW_SIZE) { /* what most loops are about */
		lua_pushinteger(L, (lua_Integer)columns_size(&m->allocations, r->row));
		return;
	}
	clock = model_clock(m);
	value = field_number(m, &clock, (enum row_number)f->which, r->row);
	if (types[f->which] == ARG_TIME && value == NEVER)
		lua_pushnil(L);
	else if (types[f->which] == ARG_TIME)
		script_push_moment(L, r->data, value);
	else if (types[f->which] == ARG_DURATION_OR_PERCENT)
		script_push_duration(L, (int64_t)clock_duration_ns(&clock, value));
	else
		lua_pushinteger(L, (lua_Integer)value);
}

static bool has_flag(const struct row *r, enum flag which)
{
	const struct model *m = r->data->snapshot->model;
	const struct columns *c = columns_of(r);
	uint64_t tags = columns_tags(c, r->row);
	unsigned flags = tags_flags(tags);
	const struct summary *sums;
	bool inside = flags_are_inside(flags), jemalloc, glibc;
	uint32_t sum;

	switch (which) {
	case FLAG_LEAKED:
		return columns_freed_at(c, r->row) == NEVER;
	case FLAG_CHAIN_LEAKED:
		return columns_freed_at(c, chain_of(m, r->row).last) == NEVER;
	case FLAG_GROUP_LEAKED:
		sums = model_summary(m);
		sum = summary_row_of(sums, columns_stack(c, r->row));
		return sum != NO_SUMMARY &&
		       sums->rows[sum].sums.leaked_count == sums->rows[sum].sums.count;
	case FLAG_TEMPORARY:
		return flags & TAG_TEMPORARY;
	case FLAG_REALLOCATED:
		return flags & TAG_REALLOCATED;
	case FLAG_ZEROED:
		return flags & TAG_ZEROED;
	case FLAG_OTHER_THREAD:
		return columns_freed_at(c, r->row) != NEVER && !(flags & TAG_FREE_LOST) &&
		       tags_thread(tags) != tags_free_thread(tags);
	case FLAG_MMAPPED:
	case FLAG_MAIN_ARENA:
	case FLAG_OTHER_ARENA:
	case FLAG_JEMALLOC:
		break;
	}
	jemalloc = allocator_is_jemalloc(
			   m, locations_call(r->data->snapshot->locations, tags_call(tags))) ||
		   (inside && allocator_inside_is_jemalloc(m));
	glibc = !jemalloc && allocator_is_glibc(m);
	if (which == FLAG_JEMALLOC)
		return jemalloc;
	if (which == FLAG_MMAPPED)
		return glibc && (flags & TAG_INSIDE) == TAG_MMAPPED;
	if (which == FLAG_MAIN_ARENA)
		return glibc && !(flags & TAG_NON_MAIN_ARENA);
	return glibc && (flags & TAG_INSIDE) == TAG_NON_MAIN_ARENA;
}

static void flag_field(lua_State *L, const struct script_field *f)
{
	lua_pushboolean(L, has_flag(lua_touserdata(L, 1), (enum flag)f->which));
}

enum text_field {
	TEXT_ID,
	TEXT_THREAD,
	TEXT_THREAD_NAME,
	TEXT_CALL,
	TEXT_BACKTRACE,
	TEXT_FREE_THREAD,
	TEXT_FREE_CALL,
	TEXT_FREE_BACKTRACE,
	TEXT_RESPONSIBLE,
};

static void push_responsible(lua_State *L, const struct row *r)
{
	struct snapshot *s = r->data->snapshot;
	struct view v = { .model = s->model, .locations = s->locations };
	const struct responsible *all = responsible_of_view(&v);
	struct buf *name = script_text(L, TEXT_ONE);
	struct responsible_frame f;

	if (!responsible_find(all, columns_stack(columns_of(r), r->row), &f)) {
		lua_pushnil(L);
		return;
	}
	responsible_name(all, &f, name);
	lua_pushlstring(L, name->data, name->size);
}

static void other_field(lua_State *L, const struct script_field *f)
{
	const struct row *r = lua_touserdata(L, 1);
	const struct snapshot *s = r->data->snapshot;
	const struct model *m = s->model;
	const struct columns *c = columns_of(r);
	uint64_t tags = columns_tags(c, r->row);
	bool freed = columns_freed_at(c, r->row) != NEVER && !(tags_flags(tags) & TAG_FREE_LOST);

	if (f->which >= TEXT_FREE_THREAD && f->which <= TEXT_FREE_BACKTRACE && !freed) {
		lua_pushnil(L);
		return;
	}
	switch ((enum text_field)f->which) {
	case TEXT_ID:
		lua_pushinteger(L, r->row);
		return;
	case TEXT_THREAD:
		lua_pushinteger(L, (lua_Integer)m->tables.threads.rows[tags_thread(tags)].tid);
		return;
	case TEXT_THREAD_NAME:
		lua_pushstring(L, m->tables.threads.rows[tags_thread(tags)].name);
		return;
	case TEXT_CALL:
		lua_pushstring(L, locations_call(s->locations, tags_call(tags)));
		return;
	case TEXT_BACKTRACE:
		lua_pushinteger(L, answer_stack(m, columns_stack(c, r->row)));
		return;
	case TEXT_FREE_THREAD:
		lua_pushinteger(L, (lua_Integer)m->tables.threads.rows[tags_free_thread(tags)].tid);
		return;
	case TEXT_FREE_CALL:
		lua_pushstring(L, locations_call(s->locations, tags_free_call(tags)));
		return;
	case TEXT_FREE_BACKTRACE:
		lua_pushinteger(L, answer_stack(m, columns_free_stack(c, r->row)));
		return;
	case TEXT_RESPONSIBLE:
		push_responsible(L, r);
		return;
	}
}

static const struct script_field fields[] = {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help)                     \
	{ name, number_field, ROW_##id, help },
#include "query/fields.def"
#undef NUMBER
	{ "id", other_field, TEXT_ID, "its number in the recording, from 0" },
	{ "thread", other_field, TEXT_THREAD, "kernel id of the thread that allocated it" },
	{ "thread_name", other_field, TEXT_THREAD_NAME, "that thread's name" },
	{ "call", other_field, TEXT_CALL, "call that made it: malloc, calloc …" },
	{ "backtrace_id", other_field, TEXT_BACKTRACE, "number of its stack" },
	{ "responsible", other_field, TEXT_RESPONSIBLE,
	  "its responsible function, the first that is the program's own" },
	{ "deallocation_thread", other_field, TEXT_FREE_THREAD,
	  "kernel id of the thread that freed or reallocated it" },
	{ "deallocation_call", other_field, TEXT_FREE_CALL, "call that ended it: free, realloc …" },
	{ "deallocation_backtrace_id", other_field, TEXT_FREE_BACKTRACE,
	  "number of the stack that freed or reallocated it" },
	{ "leaked", flag_field, FLAG_LEAKED, "was never freed" },
	{ "chain_leaked", flag_field, FLAG_CHAIN_LEAKED,
	  "the last block of its realloc chain was never freed" },
	{ "group_leaked", flag_field, FLAG_GROUP_LEAKED,
	  "nothing that its stack allocated was ever freed" },
	{ "temporary", flag_field, FLAG_TEMPORARY,
	  "was freed by the very next event of its thread" },
	{ "reallocated", flag_field, FLAG_REALLOCATED, "a realloc made another block of it" },
	{ "mmapped", flag_field, FLAG_MMAPPED, "glibc made a mapping for it alone" },
	{ "main_arena", flag_field, FLAG_MAIN_ARENA, "is from glibc's main arena" },
	{ "other_arena", flag_field, FLAG_OTHER_ARENA, "is from another of glibc's arenas" },
	{ "jemalloc", flag_field, FLAG_JEMALLOC, "jemalloc gave it" },
	{ "zeroed", flag_field, FLAG_ZEROED, "was asked for as zeroes (calloc)" },
	{ "freed_by_other_thread", flag_field, FLAG_OTHER_THREAD,
	  "another thread freed it than the one that allocated it" },
	{ 0 },
};

static struct row *check_row(lua_State *L)
{
	return script_check(L, 1, &script_row_class);
}

static int row_backtrace(lua_State *L)
{
	struct row *r = check_row(L);

	script_push_backtrace(L, r->data, columns_stack(columns_of(r), r->row),
			      tags_call(columns_tags(columns_of(r), r->row)));
	return 1;
}

static int row_deallocation_backtrace(lua_State *L)
{
	struct row *r = check_row(L);
	uint64_t tags = columns_tags(columns_of(r), r->row);

	if (columns_freed_at(columns_of(r), r->row) == NEVER || tags_flags(tags) & TAG_FREE_LOST)
		return 0;
	script_push_backtrace(L, r->data, columns_free_stack(columns_of(r), r->row),
			      tags_free_call(tags));
	return 1;
}

static int row_allocated_at(lua_State *L)
{
	struct row *r = check_row(L);

	script_push_moment(L, r->data, columns_allocated_at(columns_of(r), r->row));
	return 1;
}

static int row_deallocated_at(lua_State *L)
{
	struct row *r = check_row(L);

	if (columns_freed_at(columns_of(r), r->row) == NEVER)
		return 0;
	script_push_moment(L, r->data, columns_freed_at(columns_of(r), r->row));
	return 1;
}

/* chain(): the blocks of its realloc chain, the first one first. */
static int row_chain(lua_State *L)
{
	struct row *r = check_row(L);
	struct chain chain = chain_of(r->data->snapshot->model, r->row);
	lua_Integer i = chain.length;

	lua_createtable(L, (int)chain.length, 0);
	for (uint32_t row = chain.last; i && row != NO_ALLOCATION;
	     row = columns_previous(columns_of(r), row)) {
		script_push_row(L, r->data, row);
		lua_rawseti(L, -2, i--);
	}
	return 1;
}

/* to_table(): all of it, as allocations are in JSON. */
static int row_to_table(lua_State *L)
{
	struct row *r = check_row(L);
	struct snapshot *s = r->data->snapshot;
	struct view v = { .model = s->model, .locations = s->locations };
	struct buf *text = script_text(L, TEXT_ONE);
	struct answer a;
	struct json j = { .out = text, .compact = true };

	snapshot_answer(s, &a, &v);
	answer_allocation(&a, &j, r->row);
	snapshot_answer_release(&a);
	script_push_json(L, text->data, text->size);
	return 1;
}

static int row_data(lua_State *L)
{
	script_push_data(L, check_row(L)->data);
	return 1;
}

static int row_eq(lua_State *L)
{
	struct row *a = script_test(L, 1, &script_row_class);
	struct row *b = script_test(L, 2, &script_row_class);

	lua_pushboolean(L, a && b && a->data == b->data && a->row == b->row);
	return 1;
}

static int row_tostring(lua_State *L)
{
	struct row *r = check_row(L);

	lua_pushfstring(L, "allocation %d of %I bytes", (int)r->row,
			(LUAI_UACINT)columns_size(columns_of(r), r->row));
	return 1;
}

static const luaL_Reg meta[] = {
	{ "__eq", row_eq },
	{ "__tostring", row_tostring },
	{ NULL, NULL },
};

static const luaL_Reg methods[] = {
	{ "backtrace", row_backtrace },
	{ "deallocation_backtrace", row_deallocation_backtrace },
	{ "allocated_at", row_allocated_at },
	{ "deallocated_at", row_deallocated_at },
	{ "chain", row_chain },
	{ "to_table", row_to_table },
	{ "data", row_data },
	{ NULL, NULL },
};

const struct script_class script_row_class = {
	.name = "an allocation",
	.key = "allocation",
	.meta = meta,
	.methods = methods,
	.fields = fields,
};
