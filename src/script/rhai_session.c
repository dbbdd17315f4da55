/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is known from one script to the next: variables and functions.  See rhai.h. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "script/rhai.h"
#include "script/rhai_write.h"

struct rhai_session *rhai_session_new(void)
{
	return xcalloc(1, sizeof(struct rhai_session));
}

struct rhai_session *rhai_session_free(struct rhai_session *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->variable_count; i++)
		free((char *)s->variables[i].name.data);
	for (size_t i = 0; i < s->function_count; i++)
		free((char *)s->functions[i].name.data);
	free(s->variables);
	free(s->functions);
	free(s);
	return NULL;
}

static struct rhai_text own(struct rhai_text text)
{
	return (struct rhai_text){ xmemdup0(text.data, text.size), text.size };
}

/* A variable that is declared again is another one of that name. */
static void keep_variable(struct rhai_session *s, const struct rhai_variable *v)
{
	for (size_t i = 0; i < s->variable_count; i++)
		if (rhai_text_same(s->variables[i].name, v->name)) {
			s->variables[i].id = v->id;
			s->variables[i].constant = v->constant;
			return;
		}
	*xpush(s->variables, s->variable_count, s->variable_room) = (struct rhai_variable){
		.name = own(v->name), .id = v->id, .constant = v->constant, .global = true
	};
}

static bool has_function(const struct rhai_session *s, const struct rhai_function *f)
{
	for (size_t i = 0; i < s->function_count; i++)
		if (s->functions[i].parameters == f->parameters &&
		    rhai_text_same(s->functions[i].name, f->name))
			return true;
	return false;
}

void rhai_session_begin(struct rhai_writer *w)
{
	const struct rhai_session *s = w->session;

	w->ids = s->ids;
	for (size_t i = 0; i < s->variable_count; i++)
		rhai_declare(w, s->variables[i]);
	for (size_t i = 0; i < s->function_count; i++)
		if (!rhai_has_function(w, s->functions[i].name, s->functions[i].parameters))
			*xpush(w->functions, w->function_count, w->function_room) = s->functions[i];
}

void rhai_session_keep(struct rhai_session *s, const struct rhai_writer *w)
{
	size_t before = s->variable_count;

	s->ids = w->ids;
	for (size_t i = before; i < w->variable_count; i++)
		if (w->variables[i].global)
			keep_variable(s, &w->variables[i]);
	for (size_t i = 0; i < w->function_count; i++)
		if (!has_function(s, &w->functions[i]))
			*xpush(s->functions, s->function_count, s->function_room) =
				(struct rhai_function){ own(w->functions[i].name),
							w->functions[i].parameters };
}
