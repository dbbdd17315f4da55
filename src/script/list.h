/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Lists of allocations: a recording and what chooses of it, which is applied when somebody asks.
 *
 * What chooses is a tree of choices that never change and that lists share: a filter's row or an
 * expression at its leaves, `and`, `or`, `not` above.  A tree becomes a filter (choice_filter) each
 * time that it is applied, and the snapshot keeps the last views, so a list owns none itself; those
 * that were used last are held, so that a loop over indices is one scan. */
#include "query/group.h"
#include "script/state.h"

enum choice_kind {
	CHOICE_ALL,
	CHOICE_ROW,	/* a filter's row `what`, with a value */
	CHOICE_MEANING, /* an expression `what`, `$` in it standing for the value */
	CHOICE_AND,
	CHOICE_OR,
	CHOICE_NOT, /* of `a` */
};

struct choice {
	unsigned refs, depth;
	uint32_t leaves;
	enum choice_kind kind;
	struct choice *a, *b;
	char *what, *value;   /* value: NULL where there is none */
	size_t size, *memory; /* what it takes is counted there, as the state's */
};

#define CHOICE_LEAVES 4096 /* in one tree; a filter has a lower limit */

struct choice *choice_hold(struct choice *c);
struct choice *choice_drop(struct choice *c);
/* A leaf; the texts are copied.  `memory` is the state's count. */
struct choice *choice_new(enum choice_kind kind, const char *what, const char *value,
			  size_t *memory);
/* Takes both; b is NULL for CHOICE_NOT. */
struct choice *choice_join(enum choice_kind kind, struct choice *a, struct choice *b);
/* NULL with err. */
struct filter *choice_filter(const struct choice *c, struct err *err);

struct script_list {
	struct script_data *data;
	struct choice *choice;
	struct held_view *held; /* while it is one of the script's last few */
	bool counted;
	struct summary_sums sums;
	uint32_t last_index, last_row; /* of a list that is held: row of the index that was asked */
	char *name;		       /* of a group; NULL: it is none */
	uint32_t stack;		       /* of a group by stack, else 0 */
	unsigned call;		       /* of that stack's first allocation */
	uint32_t place;		       /* among the groups that it came from, from 1 */
};

/* Pushes a list without a choice, which its caller sets. */
struct script_list *script_push_list(lua_State *L, struct script_data *d);
/* Pushes what `l` and a choice, which is taken, have in common or together; leaves by an error. */
struct script_list *script_push_joined(lua_State *L, const struct script_list *l,
				       enum choice_kind kind, struct choice *c);
struct script_list *script_check_list(lua_State *L, int index);
/* What it chooses, until the next call of this for another list; leaves by an error. */
const struct view *script_list_view(lua_State *L, struct script_list *l);
/* The same to keep: given back with views_give(). */
struct held_view *script_list_take(lua_State *L, struct script_list *l);
/* What it takes, for the state's count while it is held. */
size_t script_view_size(const struct held_view *held);
/* It as an expression. */
void script_list_expression(lua_State *L, const struct script_list *l, struct buf *out);

/* list_filters.c: only_… of a list.  A row of what filters besides the filter rows and the flags
 * are called. */
struct script_word {
	const char *name;
	const char *meaning; /* an expression with $ */
	enum filter_arg type;
	const char *help;
};
extern const struct script_word script_words[];
/* Pushes the method that the name at index 2 is of a list, bound: false if it is none. */
bool script_filter_method(lua_State *L);
void script_filter_names(struct buf *out);
/* The text of a value at `index` for a filter that takes this type, in TEXT_ONE. */
const char *script_filter_value(lua_State *L, int index, enum filter_arg type, const char *name);
/* What a method's name means, with its help; false if it is none. */
struct script_filter {
	const struct filter_row *row;	  /* or … */
	const struct script_word *word;	  /* or … */
	const struct filter_field *field; /* a flag */
	bool negative;			  /* only_not_… */
};
bool script_filter_find(const char *name, struct script_filter *ret);
/* The choice that it makes with the argument at index 2, the caller's; leaves by an error. */
struct choice *script_filter_choices(lua_State *L, const struct script_filter *f, const char *name);
