/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the files of this folder share: the state behind a lua_State, and how values are made and
 * taken.
 *
 * Functions called by Lua leave by longjmp when something is wrong, so what they own at that moment
 * is a value of Lua's with a __gc, or one of the state's scratch texts.  Values of our own are
 * userdata whose metatables no script can reach: what __index is called with is what it must be.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "answer/snapshot.h"
#include "base/buf_type.h"
#include "query/map_list.h"
#include "script/script.h"

/* A recording, or another file that questions are about.  It stays as long as the state. */
struct script_data {
	struct script *script;
	struct snapshot *snapshot;
	char *name;	       /* what questions that name another file call it */
	struct map_list *maps; /* all of them; made when they are first asked for */
};

enum script_texts { TEXT_ONE, TEXT_TWO, TEXT_COUNT };

#define SCRIPT_LISTS_HELD 8

struct script_list;
struct choice;

struct script {
	lua_State *lua;
	struct script_options options;
	struct script_data **data;
	size_t data_count, data_room;
	struct buf texts[TEXT_COUNT]; /* scratch, for what must not be lost with a longjmp */
	size_t memory;		      /* that the state's values take */
	uint64_t instructions;
	uint64_t ends_at; /* 0: never; CLOCK_MONOTONIC */
	bool ended;	  /* by a limit, by exit: nothing catches it */
	bool exited;
	bool out_of_memory;
	int code;
	char why[200];		   /* it was ended */
	struct choice *pending;	   /* what an error must not lose */
	struct rhai_session *rhai; /* what scripts in Rhai have defined; NULL: there was none */
	struct script_list *held[SCRIPT_LISTS_HELD];
	unsigned held_next;
};

static inline struct script *script_of(lua_State *L)
{
	return *(struct script **)lua_getextraspace(L);
}

/* limits.c */
void *script_allocate(void *context, void *p, size_t old_size, size_t new_size);
void script_limits_start(struct script *s);
/* For what runs long in C: so many steps were done.  Leaves by an error at the end of a limit. */
void script_steps(lua_State *L, uint64_t steps);
/* lua_load() of a text, which is never a compiled chunk, in pieces, so that a long one can be
 * stopped. */
int script_load_text(lua_State *L, const char *text, size_t size, const char *name);
/* The innermost function that is the script's own, not the library's: "report.lua:3: ". */
void script_push_where(lua_State *L);
/* An error with the place in the script that is to blame. */
int script_fail(lua_State *L, const char *format, ...) __attribute__((format(printf, 2, 3)));
void script_limits_open(lua_State *L);

/* Empty, for a text that is being put together. */
struct buf *script_text(lua_State *L, enum script_texts which);

/* Something that a value of a class has: `get` pushes it, for the value at index 1. */
struct script_field {
	const char *name;
	void (*get)(lua_State *L, const struct script_field *f);
	int which;
	const char *help;
};

/* What a kind of userdata is: in a file of its own, as `const struct script_class script_…_class`.
 */
struct script_class {
	const char *name; /* "an allocation": what a message calls it */
	const char *key;  /* "allocation": where the library's Lua half finds its methods */
	const luaL_Reg *meta, *methods;	   /* may be NULL */
	const struct script_field *fields; /* ends with a row without a name; may be NULL */
	/* Any other index, key at 2: pushes one value and returns true.  May be NULL. */
	bool (*other)(lua_State *L);
	/* Adds the names that `other` knows, each with the end of a line.  May be NULL. */
	void (*names)(struct buf *out);
};

extern const struct script_class script_data_class, script_list_class, script_row_class,
	script_map_list_class, script_map_class, script_groups_class, script_backtrace_class,
	script_duration_class;
extern const struct script_class *const script_classes[]; /* NULL at the end */

/* class.c.  Makes them all; the table on top gets a table of methods for each. */
void script_classes_open(lua_State *L);
/* A new userdata of a class, zeroed. */
void *script_new_value(lua_State *L, const struct script_class *class, size_t size);
/* The value at `index` if it is of that class, or NULL. */
void *script_test(lua_State *L, int index, const struct script_class *class);
/* The same; an error that says what is wanted. */
void *script_check(lua_State *L, int index, const struct script_class *class);
/* Replaces the function on top by one that may be called with and without the value at 1 before its
 * arguments. */
void script_bind(lua_State *L);
/* What a value is: its class's key, or Lua's word.  type_name(value) of the library's Lua half. */
int script_type_name(lua_State *L);
/* What a value has: names with the end of a line behind each. */
void script_names(lua_State *L, int index, struct buf *out);

/* values.c */
void script_values_open(lua_State *L);
void script_push_duration(lua_State *L, int64_t ns);
/* A moment as time since the start. */
void script_push_moment(lua_State *L, const struct script_data *d, uint64_t stamp);

/* data.c */
void script_data_open(lua_State *L);
void script_push_data(lua_State *L, struct script_data *d);
struct script_data *script_add_data(struct script *s, struct snapshot *snapshot);
/* The recording that a value at `index` is, or belongs to. */
struct script_data *script_check_data(lua_State *L, int index);
/* Has it allocations, or is it another file? */
bool script_is_recording(const struct script_data *d);

/* rows.c */
void script_rows_open(lua_State *L);
void script_push_row(lua_State *L, struct script_data *d, uint32_t row);
bool script_row_at(lua_State *L, int index, struct script_data **ret_data, uint32_t *ret_row);
/* backtrace.c */
void script_push_backtrace(lua_State *L, struct script_data *d, uint32_t stack, unsigned call);

/* lists.c and list_filters.c are in list.h, groups.c and maps.c too. */
void script_lists_open(lua_State *L);
void script_groups_open(lua_State *L);
void script_maps_open(lua_State *L);

/* json.c */
void script_json_open(lua_State *L);
/* Pushes the value of a text; an error where it is none. */
void script_push_json(lua_State *L, const char *text, size_t size);

/* asking.c */
void script_asking_open(lua_State *L);
/* exporting.c */
void script_exporting_open(lua_State *L);
/* pattern.c */
void script_patterns_open(lua_State *L);
/* drawing.c */
void script_drawing_open(lua_State *L);

/* rules.c */
void script_rules_open(lua_State *L);

/* files.c */
void script_files_open(lua_State *L);
/* vocabulary.c */
void script_vocabulary_open(lua_State *L);

/* The half that is written in Lua: lib/<name>.lua. */
struct script_lib {
	const char *name, *text;
};
extern const struct script_lib script_libs[]; /* NULL at the end */

/* examples/scripts, with the ends of their names. */
extern const struct script_lib script_examples[];
extern const size_t script_examples_count;
