/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What can be asked: one row for each path.  A new one is a row here and a function. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/answer.h"
#include "agent/repeat.h"

struct route {
	const char *path;
	void (*answer)(struct exchange *x);
	const char *help;
	enum {
		GETS,
		POSTS,	/* it takes a POST too, with a body */
		CHECKS, /* it looks at the method itself: what changes something */
	} method;
	const char *params; /* what a change may be asked with; NULL: anything */
};

static void list(struct exchange *x);

static const struct route routes[] = {
	{ "/", list, "this list" },
	{ "/status", stats_status, "the agent and the jemalloc that it found" },
	{ "/stats", stats_print, "malloc_stats_print(); the query is its option letters" },
	{ "/stats.json", stats_json, "the same with J" },
	{ "/metrics", metrics_print, "the same for Prometheus" },
	{ "/mallctl", control_read, "one value: name=" },
	{ "/pprof/heap", dump_heap,
	  "a heap profile dump, for jeprof and memoir jemalloc heap; symbols=1: with names" },
	{ "/pprof/symbol", symbol_names, "names of addresses: 0x1+0x2, as query or body", POSTS },
	{ "/pprof/cmdline", symbol_cmdline, "the program's words, one a line" },
	{ "/debug/pprof/heap", pprof_heap, "a profile for Go's pprof; seconds=N: what changed" },
	{ "/debug/pprof/allocs", pprof_heap, "the same, allocations first" },
	{ "/debug/pprof/heap/folded", pprof_heap, "the same as text: main;run;make BYTES" },
	{ "/debug/pprof/allocs/folded", pprof_heap, "the same, of all that was allocated" },
	{ "/debug/pprof/symbol", symbol_names, "as /pprof/symbol", POSTS },
	{ "/debug/pprof/cmdline", symbol_cmdline, "the program's words" },
	{ "/prof/recent", log_recent,
	  "the last blocks that were sampled, for memoir jemalloc log" },
	{ "/mtev/memory.json", stats_json, "as libmtev has it" },
	{ "/mtev/heap_profile", dump_mtev, "the same: active=, trigger_dump=true", CHECKS },
	{ "/control/prof/active", control_single, "value=true or false", CHECKS, "value" },
	{ "/control/prof/thread_active_init", control_single, "value=, for new threads", CHECKS,
	  "value" },
	{ "/control/prof/gdump", control_single, "value=, a dump at each new peak", CHECKS,
	  "value" },
	{ "/control/prof/prefix", control_single, "value=, of dumps that jemalloc names", CHECKS,
	  "value" },
	{ "/control/prof/reset", control_prof_reset, "forget samples; lg_sample=", CHECKS,
	  "lg_sample bytes" },
	{ "/control/prof/rate", control_prof_reset, "the same with lg_sample= or bytes=", CHECKS,
	  "lg_sample bytes" },
	{ "/control/prof/recent", control_single, "value=, how many blocks /prof/recent has",
	  CHECKS, "value" },
	{ "/control/prof/log/start", log_start, "from now on, a log of blocks that are freed",
	  CHECKS, "" },
	{ "/control/prof/log/stop", log_stop, "that log, for memoir jemalloc log", CHECKS, "" },
	{ "/control/prof/dump", control_dump, "a dump, or into a new file: path=", CHECKS, "path" },
	{ "/control/purge", control_purge, "give unused pages back; arena=", CHECKS, "arena" },
	{ "/control/decay", control_purge, "those that are due; arena=", CHECKS, "arena" },
	{ "/control/dirty_decay_ms", control_decay_ms, "value=, arena=", CHECKS, "value arena" },
	{ "/control/muzzy_decay_ms", control_decay_ms, "value=, arena=", CHECKS, "value arena" },
	{ "/control/background_thread", control_single, "value=true or false", CHECKS, "value" },
	{ "/control/max_background_threads", control_single, "value=", CHECKS, "value" },
	{ "/control/mutexes/reset", control_single, "counters of mutexes to 0", CHECKS, "" },
	{ "/control/mallctl", control_write, "name=, value=, type=", CHECKS, "name value type" },
};

static void list(struct exchange *x)
{
	x->type = "text/plain; charset=utf-8";
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		text_printf(&x->out, "%-4s %-32s %s\n",
			    !strncmp(routes[i].path, "/control/", 9) ? "POST" : "GET",
			    routes[i].path, routes[i].help);
}

/* What was posted are parameters like those of the query. */
static bool take_form(struct exchange *x)
{
	struct request *r = &x->request;
	size_t n = strlen(r->query), size = r->body_size;

	while (size && (x->body[size - 1] == '\n' || x->body[size - 1] == '\r'))
		size--;
	if (!size)
		return true;
	if (n + size + 2 > sizeof(r->query) || memchr(x->body, 0, size))
		return false;
	if (n)
		r->query[n++] = '&';
	memcpy(r->query + n, x->body, size);
	r->query[n + size] = 0;
	return true;
}

static void answer_unknown(struct exchange *x)
{
	const char *path = x->request.path, *ending = strrchr(path, '/');

	/* Older agents drew; the program's own process is no place for that. */
	if (!strncmp(path, "/debug/pprof/", 13) &&
	    (!strcmp(ending, "/flamegraph") || !strcmp(ending, "/html")))
		answer_line(x, 404, "the agent draws nothing: memoir jemalloc heap --%s%s %d does",
			    ending + 1, strncmp(path + 13, "allocs/", 7) ? "" : " --alloc_space",
			    (int)getpid());
	else
		answer_line(x, 404, "there is no %s here; / lists what there is", path);
}

void routes_answer(struct exchange *x)
{
	const struct request *r = &x->request;
	char unknown[64];

	x->status = 200;
	if (!answer_may_read(x))
		return;
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		const struct route *route = &routes[i];

		if (strcmp(route->path, r->path))
			continue;
		if (route->method != CHECKS && strcmp(r->method, "GET") &&
		    strcmp(r->method, "HEAD") &&
		    !(route->method == POSTS && !strcmp(r->method, "POST"))) {
			x->header = route->method == POSTS ? "Allow: GET, HEAD, POST\r\n"
							   : "Allow: GET, HEAD\r\n";
			answer_line(x, 405, "GET, not %s", r->method);
			return;
		}
		if (route->method == CHECKS && !take_form(x)) {
			answer_line(x, 400, "the body is not a list of parameters");
			return;
		}
		/* A name that is mistyped must not mean everything. */
		if (route->params &&
		    request_unknown_param(r, route->params, unknown, sizeof(unknown))) {
			answer_line(x, 400, "there is no parameter %s here", unknown);
			return;
		}
		if (route->method == GETS && repeat_given(x))
			return;
		if (route->method == CHECKS)
			repeat_forget();
		route->answer(x);
		if (route->method == GETS)
			repeat_made(x);
		return;
	}
	answer_unknown(x);
}
