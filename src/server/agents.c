/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /agents…: programs that run with an agent in them: what their jemalloc says now and said before,
 * and changes.  All but the list is answered by the agent's own thread (agent_session.h). */
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "client/controls.h"
#include "client/http.h"
#include "server/agent_sessions.h"
#include "server/request.h"
#include "server/server.h"
#include "server/upload.h"

#define CONTROL_TIMEOUT_MS 20000
#define DUMP_TIMEOUT_MS 60000

static void list_controls(struct json *j)
{
	JSON_ROWS_WHILE(j, "controls", k, controls[k].name) {
		const struct control *c = &controls[k];

		JSON_MEMBERS(j, c, name, help, file);
		JSON_ROWS_WHILE(j, "parameters", i, i < CONTROL_PARAMS && c->params[i].name) {
			json_text(j, "name", c->params[i].name);
			json_text(j, "type", controls_type_name(c->params[i].type));
			json_bool(j, "required", c->params[i].required);
		}
	}
}

static int answer_list(struct request *r, struct sink *out)
{
	struct json j = { .out = &out->buf, .compact = true };

	json_object(&j, NULL);
	agent_sessions_list(r->server->agent_sessions, &j, "agents");
	list_controls(&j);
	json_end_object(&j);
	return 0;
}

static int answer_stats(struct request *r, struct sink *out)
{
	int error = agent_session_refresh(r);

	if (!error)
		agent_session_write_now(r->agent_session, out);
	return error;
}

static int answer_series(struct request *r, struct sink *out)
{
	const char *since = ask_text(&r->ask, "since");
	struct json j = { .out = &out->buf, .compact = true };
	int error = agent_session_refresh(r);

	if (error)
		return error;
	json_object(&j, NULL);
	agent_session_write_series(r->agent_session, &j, strtoull(since, NULL, 10));
	json_end_object(&j);
	return 0;
}

/* Only what this control knows, and all that it needs. */
static int add_params(struct request *r, const struct control *c, struct buf *target)
{
	for (size_t i = 0; i < r->ask.params.count; i++) {
		const struct param *p = &r->ask.params.rows[i];
		bool known = false;

		for (unsigned k = 0; k < CONTROL_PARAMS && c->params[k].name; k++)
			known |= !strcmp(c->params[k].name, p->name);
		if (!known)
			return ask_fail(&r->ask, 400, p->name, "%s takes no '%.60s'", c->name,
					p->name);
		if (*p->value)
			http_add_param(target, p->name, p->value);
	}
	for (unsigned k = 0; k < CONTROL_PARAMS && c->params[k].name; k++)
		if (c->params[k].required && !ask_has(&r->ask, c->params[k].name))
			return ask_fail(&r->ask, 400, c->params[k].name, "'%s' is needed: %s",
					c->params[k].name, c->help);
	return 0;
}

static int answer_control(struct request *r, struct sink *out)
{
	auto_free char *name =
		r->args[2] ? xasprintf("%s/%s", r->args[1], r->args[2]) : xstrdup(r->args[1]);
	const struct control *c = controls_find(name);
	auto_buf struct buf target = { 0 }, body = { 0 };
	int error;

	if (!c)
		return ask_fail(&r->ask, 404, NULL,
				"there is no control '%.60s'; /agents lists them", r->args[1]);
	buf_printf(&target, "/control/%s", c->name);
	error = add_params(r, c, &target);
	if (!error)
		error = agent_session_call(r, "POST", target.data, CONTROL_TIMEOUT_MS, &body);
	if (!error && body.size)
		buf_add(&out->buf, body.data, body.size);
	if (!error)
		agent_session_refresh_if_viewed(r->agent_session);
	return error;
}

/* Gets something of the agent, and opens it like a file that was sent. */
static int fetch_and_open(struct request *r, struct sink *out, const char *target,
			  const char *extension)
{
	struct agents_entry agent = agent_session_agent(r->agent_session);
	const char *slash = strrchr(agent.program, '/');
	auto_buf struct buf body = { 0 };
	auto_free char *name = NULL;
	char id[ID_SIZE];
	struct err err;
	struct json j = { .out = &out->buf, .compact = true };
	int error = agent_session_call(r, "GET", target, DUMP_TIMEOUT_MS, &body);

	if (error)
		return error;
	name = xasprintf("%s.%d.%u.%s", slash ? slash + 1 : agent.program, (int)agent.pid,
			 agent_session_next_file(r->agent_session), extension);
	if (uploads_put(r->server, body.data, body.size, name, id, &err))
		return ask_fail(&r->ask, 502, NULL, "what the agent sent cannot be opened: %s",
				err.text);
	json_object(&j, NULL);
	json_text(&j, "id", id);
	json_text(&j, "name", name);
	json_end_object(&j);
	return error;
}

static int answer_dump(struct request *r, struct sink *out)
{
	return fetch_and_open(r, out, "/pprof/heap", "heap");
}

static int answer_snapshot(struct request *r, struct sink *out)
{
	return fetch_and_open(r, out, "/stats?J", "json");
}

static const struct param_row series_params[] = {
	{ "since", PARAM_NUMBER, "0", "the number of the first point that is wanted" },
	{ 0 },
};

/* Those of all controls; which of them a control takes is in its row. */
static const struct param_row control_params[] = {
	{ "value", PARAM_TEXT, NULL, "what it becomes" },
	{ "arena", PARAM_TEXT, NULL, "a number; all of them otherwise" },
	{ "lg_sample", PARAM_TEXT, NULL, "a sample every 2 to the power of so many bytes" },
	{ "path", PARAM_TEXT, NULL, "a new file of the program's user" },
	{ "name", PARAM_TEXT, NULL, "a mallctl name" },
	{ 0 },
};

const struct route routes_agents[] = {
	{ "/agents", METHOD_GET, "running programs with an agent, and what can be changed in them",
	  .way = ROUTE_QUICK, .answer = answer_list },
	{ "/agents/{agent}/stats", METHOD_GET, "what its jemalloc says now", .way = ROUTE_ASKED,
	  .answer = answer_stats },
	{ "/agents/{agent}/series", METHOD_GET, "its statistics since the page first asked",
	  .params = series_params, .way = ROUTE_ASKED, .answer = answer_series },
	{ "/agents/{agent}/control/{name*}", METHOD_POST, "changes something in it",
	  .params = control_params, .way = ROUTE_ASKED, .answer = answer_control },
	{ "/agents/{agent}/dump", METHOD_POST, "takes a heap profile dump and opens it",
	  .way = ROUTE_ASKED, .answer = answer_dump },
	{ "/agents/{agent}/snapshot", METHOD_POST, "takes its statistics in full and opens them",
	  .way = ROUTE_ASKED, .answer = answer_snapshot },
	{ 0 },
};
