/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the names in a script refer to: variables, constants and functions.  See rhai_write.h. */
#include <string.h>

#include "base/xalloc.h"
#include "script/rhai_write.h"

bool rhai_text_same(struct rhai_text a, struct rhai_text b)
{
	return a.size == b.size && !memcmp(a.data, b.data, a.size);
}

void rhai_find_functions(struct rhai_writer *w)
{
	for (size_t i = 0; i < w->script->count; i++) {
		const struct rhai_node *n = w->script->kids[i];

		if (n->kind != RHAI_FN)
			continue;
		if (rhai_has_function(w, n->text, n->parameter_count))
			rhai_fail(w->r, n->at,
				  "there is a function '%.*s' with %zu parameters already",
				  (int)n->text.size, n->text.data, n->parameter_count);
		w->functions = xgrow(w->functions, w->function_count, &w->function_room,
				     sizeof(*w->functions));
		w->functions[w->function_count++] =
			(struct rhai_function){ n->text, n->parameter_count };
	}
}

bool rhai_has_function(const struct rhai_writer *w, struct rhai_text name, size_t parameters)
{
	for (size_t i = 0; i < w->function_count; i++)
		if (w->functions[i].parameters == parameters &&
		    rhai_text_same(w->functions[i].name, name))
			return true;
	return false;
}

struct rhai_variable rhai_new_variable(struct rhai_writer *w, struct rhai_text name, bool constant,
				       bool global)
{
	return (struct rhai_variable){ name, ++w->ids, constant, global };
}

void rhai_declare(struct rhai_writer *w, struct rhai_variable v)
{
	w->variables =
		xgrow(w->variables, w->variable_count, &w->variable_room, sizeof(*w->variables));
	w->variables[w->variable_count++] = v;
}

const struct rhai_variable *rhai_find_variable(const struct rhai_writer *w, struct rhai_text name)
{
	for (size_t i = w->variable_count; i-- > w->visible;)
		if (rhai_text_same(w->variables[i].name, name))
			return &w->variables[i];
	return NULL;
}

/* What stands outside of functions and blocks: a constant, or any variable. */
static bool is_outside(const struct rhai_writer *w, struct rhai_text name, bool constant)
{
	for (size_t i = 0; i < w->script->count; i++) {
		const struct rhai_node *n = w->script->kids[i];

		if (n->kind == RHAI_LET && (n->number || !constant) &&
		    rhai_text_same(n->text, name))
			return true;
	}
	return false;
}

bool rhai_has_constant(const struct rhai_writer *w, struct rhai_text name)
{
	const struct rhai_session *s = w->session;

	for (size_t i = 0; s && i < s->variable_count; i++)
		if (s->variables[i].constant && rhai_text_same(s->variables[i].name, name))
			return true;
	return is_outside(w, name, true);
}

const struct rhai_variable *rhai_resolve(struct rhai_writer *w, const struct rhai_node *n)
{
	const struct rhai_variable *v = rhai_find_variable(w, n->text);
	int size = n->text.size < 60 ? (int)n->text.size : 60;

	if (v)
		return v;
	if (w->enclosed && is_outside(w, n->text, true))
		rhai_fail(w->r, n->at, "functions see '%.*s' as global::%.*s only", size,
			  n->text.data, size, n->text.data);
	else if (w->enclosed && is_outside(w, n->text, false))
		rhai_fail(w->r, n->at,
			  "functions do not see '%.*s', which is outside: make it an argument",
			  size, n->text.data);
	else
		rhai_fail(w->r, n->at, "there is no variable '%.*s' here", size, n->text.data);
	return NULL;
}
