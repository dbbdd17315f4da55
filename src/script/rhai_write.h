/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the writer's files share: rhai_write.c has statements, rhai_write_value.c expressions,
 * rhai_names.c what names refer to.
 *
 * Of the Lua text that they make:
 *	R	the runtime library, lib/rhai.lua
 *	V	variables of the script outside of functions: fields, as Lua has no more than 200
 *		local variables in a function
 *	F	functions, by name and number of parameters
 *	M	what is to be executed: functions without parameters, between which functions are
 *		defined, as Rhai knows functions that stand further down
 *	v7_x	the seventh variable, whose name is x: names may be declared again
 *	t3	a temporary: an operand that must be evaluated before a statement that follows it
 * In a session V and F are those of the scripts before. */
#include "script/rhai_tree.h"

struct buf;

struct rhai_variable {
	struct rhai_text name;
	unsigned id;
	bool constant;
	bool global; /* in V */
};

struct rhai_function {
	struct rhai_text name;
	size_t parameters;
};

/* Where the value of a statement goes. */
enum rhai_goal {
	RHAI_NOWHERE,
	RHAI_TO_TEMPORARY,
	RHAI_TO_CALLER,
};

struct rhai_destination {
	enum rhai_goal goal;
	unsigned temporary;
};

struct rhai_loop {
	unsigned id;
	struct rhai_destination to;
};

/* What the scripts before have left; names are the session's own. */
struct rhai_session {
	struct rhai_variable *variables; /* all global */
	size_t variable_count, variable_room;
	struct rhai_function *functions;
	size_t function_count, function_room;
	unsigned ids;
};

struct rhai_writer {
	struct rhai *r;
	struct buf *out;
	struct rhai_session *session; /* NULL: the script stands alone */
	unsigned line;		      /* of the end of what is written */
	unsigned ids, temporaries;
	unsigned result;   /* the temporary that the script's value goes to */
	unsigned level;	   /* how deep Lua would nest here */
	unsigned declared; /* variables of the Lua function until here */
	unsigned locals;   /* variables of the Lua function here */
	size_t pending;	   /* registers that the expression here takes */
	bool in_function;  /* or in a closure: where return has somewhere to go */
	bool enclosed;	   /* in a function, which sees no variable outside */
	struct rhai_loop loop;
	/* What can be seen: variables[visible] and behind it. */
	struct rhai_variable *variables;
	size_t variable_count, variable_room, visible;
	struct rhai_function *functions;
	size_t function_count, function_room;
	const struct rhai_node *script;
};

/* rhai_session.c */
/* Makes what the session knows visible; behind rhai_find_functions(). */
void rhai_session_begin(struct rhai_writer *w);
/* Takes over what a script that was written whole has defined. */
void rhai_session_keep(struct rhai_session *s, const struct rhai_writer *w);

/* rhai_names.c */
bool rhai_text_same(struct rhai_text a, struct rhai_text b);
/* Notes the functions of the script. */
void rhai_find_functions(struct rhai_writer *w);
bool rhai_has_function(const struct rhai_writer *w, struct rhai_text name, size_t parameters);
/* An id for a variable, which rhai_declare() makes visible. */
struct rhai_variable rhai_new_variable(struct rhai_writer *w, struct rhai_text name, bool constant,
				       bool global);
void rhai_declare(struct rhai_writer *w, struct rhai_variable v);
/* NULL, and not said, if there is none. */
const struct rhai_variable *rhai_find_variable(const struct rhai_writer *w, struct rhai_text name);
/* The same of a node, and said. */
const struct rhai_variable *rhai_resolve(struct rhai_writer *w, const struct rhai_node *n);
/* Is there such a constant outside of functions? */
bool rhai_has_constant(const struct rhai_writer *w, struct rhai_text name);

/* rhai_write_value.c */
/* Goes on to a line, unless it is behind already. */
void rhai_to_line(struct rhai_writer *w, unsigned line);
void rhai_put(struct rhai_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rhai_put_name(struct rhai_writer *w, struct rhai_variable v);
void rhai_put_quoted(struct rhai_writer *w, struct rhai_text text);
/* One level deeper, until the caller lowers w->level; says so if that is too deep. */
void rhai_deeper(struct rhai_writer *w, const struct rhai_node *n);
/* Counts a variable of the Lua function; says so if there are too many. */
void rhai_count_local(struct rhai_writer *w, const struct rhai_node *n);
unsigned rhai_new_temporary(struct rhai_writer *w, const struct rhai_node *n);
/* The statements that must come before an expression, or before several that follow each other.
 * `of_first`: what the first one refers to may be changed, and no copy of it. */
void rhai_put_before(struct rhai_writer *w, struct rhai_node *n);
void rhai_put_all_before(struct rhai_writer *w, struct rhai_node **nodes, size_t count,
			 bool first_apart, bool of_first);
/* An expression, behind what must come before it.  `own`: what it yields is kept or changed, so
 * that an array or map of a variable is copied. */
void rhai_put_value(struct rhai_writer *w, const struct rhai_node *n, bool own);
/* Evaluates an expression into a temporary now. */
void rhai_put_aside(struct rhai_writer *w, struct rhai_node *n, bool own);
/* Is what rhai_put_value() writes a call, which Lua takes as a statement? */
bool rhai_is_call(const struct rhai_node *n);
/* x.trim(), which changes the variable x. */
bool rhai_changes_variable(const struct rhai_node *n);
/* Of x.y and x[i] two arguments: x, and "y" or i. */
void rhai_put_part(struct rhai_writer *w, const struct rhai_node *part);
/* The arguments behind the first, each with a comma before it. */
void rhai_put_arguments(struct rhai_writer *w, const struct rhai_node *n);

/* rhai_write.c */
void rhai_put_statement(struct rhai_writer *w, struct rhai_node *n, struct rhai_destination to);
/* The parameters and body of a function, and its end. */
void rhai_put_function(struct rhai_writer *w, const struct rhai_node *n);
