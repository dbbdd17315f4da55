/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests.  See request.h. */
#include "server/request.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "answer/kind.h"
#include "answer/question.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "server/agent_sessions.h"
#include "server/library.h"
#include "server/server.h"
#include "server/source_files.h"

#define FLEET_FRESH_S 30 /* for so long at most an answer about a fleet is given again */

/* The file of an id, for an ask whose door is the server: NULL with a->fault. */
static struct snapshot *take_snapshot(struct ask *a, const char *parameter, const char *id)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct server *server = a->door;
	struct snapshot *s;
	double progress = 0;

	switch (library_take(server->library, id, &s, &progress, &err)) {
	case LIBRARY_READY:
		return s;
	case LIBRARY_NONE:
		ask_fail(a, 404, parameter, "there is no recording '%.40s'; /list has them all",
			 id);
		return NULL;
	case LIBRARY_LOADING:
		ask_fail(a, 503, parameter, "the recording is still being read");
		a->fault.progress = progress;
		return NULL;
	case LIBRARY_FAILED:
		ask_fail(a, 404, parameter, "the recording cannot be read: %s", err.text);
		return NULL;
	}
	return NULL;
}

static int open_source(struct ask *a, const char *path, struct stat *ret_st, const char **ret_why)
{
	struct request *r = (struct request *)((char *)a - offsetof(struct request, ask));

	if (!r->roots) {
		r->roots = xcalloc(1, sizeof(*r->roots));
		source_roots_init(r->roots, &r->server->options, a->snapshot);
	}
	return source_roots_open(r->roots, path, ret_st, ret_why);
}

/* The agent of a path that has one. */
static bool take_agent_session(struct request *r)
{
	if (strncmp(r->route->path, "/agents/{agent}/", 16) != 0)
		return true;
	r->agent_session = agent_sessions_hold(r->server->agent_sessions, r->args[0]);
	if (!r->agent_session)
		ask_fail(&r->ask, 404, NULL, "there is no agent '%.40s'; /agents has them all",
			 r->args[0]);
	return r->agent_session != NULL;
}

/* What stands for parameters in the question's part of the path, which is behind the file's id. */
static void take_path_params(struct request *r)
{
	const char *at = r->route->question ? r->route->question->path : NULL;
	struct err err;

	for (unsigned i = 1; at && (at = strchr(at, '{')); i++) {
		auto_free char *name = xmemdup0(at + 1, strcspn(at + 1, "}"));

		params_add(&r->ask.params, name, r->args[i], &err);
		at++;
	}
}

/* Questions about recordings that fleets answer, too. */
static bool is_for_fleets(const struct route *r)
{
	return r->question && r->question->fleets;
}

bool request_init(struct request *r, struct server *s, unsigned method, const char *address)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	unsigned methods;

	*r = (struct request){ .server = s,
			       .ask = { .fault = FAULT_NONE,
					.open = take_snapshot,
					.open_source = open_source,
					.door = s } };
	if (params_decode(&r->ask.params, address, &err)) {
		ask_fail(&r->ask, 400, NULL, "%s", err.text);
		return false;
	}
	r->route = route_find(r->ask.params.path, method, r->args, &methods);
	if (!r->route) {
		ask_fail(&r->ask, methods ? 405 : 404, NULL,
			 methods ? "not with this method" : "there is no such address");
		r->ask.fault.methods = methods;
		return false;
	}
	r->ask.rows = r->route->params;
	r->ask.filters = r->route->filters;
	r->ask.checks = r->route->checks;
	r->ask.takes_scripts = true;
	take_path_params(r);
	if (!ask_check(&r->ask) || !take_agent_session(r))
		return false;
	if (!route_has_file(r->route))
		return true;
	r->ask.snapshot = take_snapshot(&r->ask, NULL, r->args[0]);
	if (r->ask.snapshot && !r->route->any_kind &&
	    !(r->ask.snapshot->fleet && is_for_fleets(r->route)) &&
	    strcmp(r->ask.snapshot->kind->name, r->route->kind ? r->route->kind : "recording") != 0)
		ask_fail(&r->ask, 404, NULL, "'%s' is %s", r->ask.snapshot->name,
			 r->route->kind ? "no file of that kind" : "no recording");
	return !r->ask.fault.status;
}

void request_release(struct request *r)
{
	ask_release(&r->ask);
	agent_session_drop(r->agent_session);
	for (unsigned i = 0; i < ROUTE_ARGS; i++)
		free(r->args[i]);
	free(r->file_name);
	buf_release(&r->body);
	if (r->roots)
		source_roots_release(r->roots);
	free(r->roots);
	*r = (struct request){ 0 };
}

static void add_to_key(const struct request *r, struct buf *key, const struct param *p)
{
	struct snapshot *s = NULL;
	double progress;
	struct err err;

	buf_printf(key, "\n%s=%zu:%s", p->name, strlen(p->value), p->value);
	if (p->row &&
	    library_take(r->server->library, p->value, &s, &progress, &err) == LIBRARY_READY)
		buf_printf(key, " %llu", (unsigned long long)s->number);
	snapshot_drop(s);
}

char *request_key(const struct request *r, bool gzip)
{
	struct buf key = { 0 };

	buf_printf(&key, "%d %s", gzip, r->ask.params.path);
	if (r->ask.snapshot)
		buf_printf(&key, " %llu", (unsigned long long)r->ask.snapshot->number);
	/* What is sent to a fleet is seen a little later. */
	if (r->ask.snapshot && r->ask.snapshot->fleet)
		buf_printf(&key, " %lld", (long long)time(NULL) / FLEET_FRESH_S);
	for (const struct param_row *row = r->route->params; row && row->name; row++)
		for (size_t i = 0; i < r->ask.params.count; i++) {
			const struct param *p = &r->ask.params.rows[i];

			if (p->row == row && *p->value &&
			    (row->telling || !row->fallback ||
			     strcmp(p->value, row->fallback) != 0))
				add_to_key(r, &key, p);
		}
	for (size_t i = 0; i < r->ask.params.count; i++)
		if (!r->ask.params.rows[i].row && *r->ask.params.rows[i].value)
			add_to_key(r, &key, &r->ask.params.rows[i]);
	return key.data;
}
