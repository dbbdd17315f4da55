/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of what can be asked.  See route.h. */
#include "server/route.h"

#include <string.h>

#include "answer/question.h"
#include "base/xalloc.h"
#include "server/request.h"

#define ROUTES(name) extern const struct route routes_##name[];
#include "server/routes.inc"
#undef ROUTES

#define QUESTIONS_MAX 64

/* Filled before main(), since a row's path is made from its question's name. */
static struct route question_routes[QUESTIONS_MAX + 1];

const struct route *const routes[] = {
	question_routes,
#define ROUTES(name) routes_##name,
#include "server/routes.inc"
#undef ROUTES
	NULL,
};

static int answer_question(struct request *r, struct sink *out)
{
	return question_answer(r->route->question, &r->ask, out);
}

static bool question_is_long(struct request *r)
{
	const struct question *q = r->route->question;

	return q->is_long && q->is_long(&r->ask);
}

__attribute__((constructor)) static void make_question_routes(void)
{
	for (unsigned i = 0; i < QUESTIONS_MAX && questions[i]; i++) {
		const struct question *q = questions[i];
		const char *files = !q->kind			    ? "data"
				    : !strcmp(q->kind, "heap")	    ? "dumps"
				    : !strcmp(q->kind, "processes") ? "folders"
				    : !strcmp(q->kind, "fleet")	    ? "fleets"
								    : "data";

		question_routes[i] = (struct route){
			.path = xasprintf("/%s/{id}/%s", files, q->path ? q->path : q->name),
			.methods = METHOD_GET,
			.help = q->help,
			.kind = q->kind,
			.params = q->params,
			.filters = q->filters,
			.checks = q->checks,
			.way = ROUTE_CACHED,
			.streams = question_is_long,
			.answer = answer_question,
			.question = q,
		};
	}
}

static void drop(char *args[ROUTE_ARGS])
{
	for (unsigned i = 0; i < ROUTE_ARGS; i++) {
		free(args[i]);
		args[i] = NULL;
	}
}

bool route_fits(const char *pattern, const char *path, char *ret_args[ROUTE_ARGS])
{
	unsigned count = 0;

	for (unsigned i = 0; i < ROUTE_ARGS; i++)
		ret_args[i] = NULL;
	while (*pattern && *path) {
		size_t name = strcspn(pattern, "/"), size = strcspn(path, "/");

		if (*pattern == '{') {
			if (pattern[name - 2] == '*')
				size = strlen(path);
			if (!size || count == ROUTE_ARGS)
				break;
			ret_args[count++] = xmemdup0(path, size);
		} else if (name != size || memcmp(pattern, path, size) != 0) {
			break;
		}
		pattern += name;
		path += size;
		if (*pattern != *path)
			break;
		if (*pattern) {
			pattern++;
			path++;
			if (!*pattern != !*path)
				break;
		}
	}
	if (!*pattern && !*path)
		return true;
	drop(ret_args);
	return false;
}

const struct route *route_find(const char *path, unsigned method, char *ret_args[ROUTE_ARGS],
			       unsigned *ret_methods)
{
	*ret_methods = 0;
	for (const struct route *const *table = routes; *table; table++)
		for (const struct route *r = *table; r->path; r++) {
			if (!route_fits(r->path, path, ret_args))
				continue;
			if (r->methods & method)
				return r;
			drop(ret_args);
			*ret_methods |= r->methods;
		}
	return NULL;
}

bool route_has_file(const struct route *r)
{
	return !strncmp(r->path, "/data/{id}/", 11) || !strncmp(r->path, "/dumps/{id}/", 12) ||
	       !strncmp(r->path, "/folders/{id}/", 14) || !strncmp(r->path, "/fleets/{id}/", 13);
}
