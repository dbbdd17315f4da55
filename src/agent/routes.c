/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What can be asked: one row for each path.  A new one is a row here and a function. */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/answer.h"

struct route {
	const char *path;
	void (*answer)(struct exchange *x);
	const char *help;
	bool posts;  /* it takes a POST too, with a body */
	bool checks; /* it looks at the method itself: what changes something */
};

static void list(struct exchange *x);

static const struct route routes[] = {
	{ "/", list, "this list" },
	{ "/status", stats_status, "the agent and the jemalloc that it found" },
	{ "/stats", stats_print, "malloc_stats_print(); the query is its option letters" },
	{ "/stats.json", stats_json, "the same with J" },
	{ "/mtev/memory.json", stats_json, "as libmtev has it" },
};

static void list(struct exchange *x)
{
	x->type = "text/plain; charset=utf-8";
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		text_printf(&x->out, "%-4s %-32s %s\n", routes[i].checks ? "POST" : "GET",
			    routes[i].path, routes[i].help);
}

void routes_answer(struct exchange *x)
{
	const struct request *r = &x->request;

	x->status = 200;
	/* Who asks through the socket did not go by a name. */
	if (!x->trusted && !request_host_allowed(r->host, agent.host, agent.everywhere)) {
		answer_line(x, 403, "the Host header names another machine");
		return;
	}
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		const struct route *route = &routes[i];

		if (strcmp(route->path, r->path))
			continue;
		if (!route->checks && strcmp(r->method, "GET") && strcmp(r->method, "HEAD") &&
		    !(route->posts && !strcmp(r->method, "POST"))) {
			x->header = route->posts ? "Allow: GET, HEAD, POST\r\n"
						 : "Allow: GET, HEAD\r\n";
			answer_line(x, 405, "GET, not %s", r->method);
			return;
		}
		route->answer(x);
		return;
	}
	answer_line(x, 404, "there is no %s here; / lists what there is", r->path);
}
