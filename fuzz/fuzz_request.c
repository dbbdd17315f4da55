/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses of requests on any bytes: taken apart, matched with every route, their parameters
 * checked; and the cursor in an expression at every place of it.
 *
 * What is decoded is never longer than what was sent, a path fits at most what the table says, and
 * what a completion would replace lies inside the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answer/param.h"
#include "base/xalloc.h"
#include "fuzz.h"
#include "query/cursor.h"
#include "server/route.h"

static void free_args(char *args[ROUTE_ARGS])
{
	for (unsigned i = 0; i < ROUTE_ARGS; i++)
		free(args[i]);
}

/* All rows of all routes read the value, and say why if they do not take it. */
static void check_value(const char *value)
{
	for (const struct route *const *table = routes; *table; table++)
		for (const struct route *r = *table; r->path; r++)
			for (const struct param_row *p = r->params; p && p->name; p++) {
				struct err err = { .text = "" };

				if (param_check(p, value, &err) && !*err.text)
					abort();
			}
}

static void check_cursor(const char *text)
{
	size_t size = strlen(text);

	for (size_t at = 0; at <= size && at < 64; at++) {
		struct cursor c;

		cursor_find(&c, text, at);
		if (c.from > at || c.typed < c.from || c.typed > at || c.to < at || c.to > size)
			abort();
		if (param_position(text, c.from) > param_position(text, c.to))
			abort();
	}
}

FUZZ(request, data, size)
{
	char *text = xmemdup0(data, size);
	struct err err = { .text = "" };
	char *args[ROUTE_ARGS];
	struct params p;
	unsigned methods;

	if (params_decode(&p, text, &err)) {
		if (!*err.text)
			abort();
	} else {
		size_t all = strlen(p.path);

		for (size_t i = 0; i < p.count; i++)
			all += strlen(p.rows[i].name) + strlen(p.rows[i].value);
		if (all > strlen(text) || p.count > PARAMS_MAX)
			abort();
		for (unsigned method = METHOD_GET; method <= METHOD_DELETE; method *= 2)
			if (route_find(p.path, method, args, &methods))
				free_args(args);
		for (size_t i = 0; i < p.count && i < 4; i++)
			check_value(p.rows[i].value);
	}
	params_release(&p);
	check_cursor(text);
	free(text);
	return 0;
}
