/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What answers have in common: lines, refusals, who may change things. */
#include "agent/answer.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/jemalloc.h"
#include "peer/peer.h"

void answer_line(struct exchange *x, int status, const char *format, ...)
{
	char line[1024];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(line, sizeof(line) - 1, format, list);
	va_end(list);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	x->status = status;
	x->type = "text/plain; charset=utf-8";
	x->out.size = 0;
	text_add(&x->out, line, n > 0 ? (size_t)n : 0);
	text_char(&x->out, '\n');
}

bool answer_needs_jemalloc(struct exchange *x)
{
	if (jemalloc_find())
		return true;
	answer_line(x, 503, "no jemalloc in this process");
	return false;
}

bool answer_needs_prof(struct exchange *x)
{
	if (!answer_needs_jemalloc(x))
		return false;
	if (!jemalloc.prof)
		answer_line(x, 409, "profiling was not enabled: start with MALLOC_CONF=prof:true");
	return jemalloc.prof;
}

/* In a time that does not depend on where they differ. */
static bool same_token(const char *a, const char *b)
{
	size_t n = strlen(a);
	unsigned difference = n != strlen(b);

	for (size_t i = 0; i < n; i++) {
		difference |= (unsigned)(a[i] ^ *b);
		b += *b != 0;
	}
	return !difference;
}

static bool has_right_token(const struct request *r)
{
	return r->has_token && agent.token[0] && same_token(agent.token, r->token);
}

/* Once for each connection: a client that has the token spares us the question. */
static bool is_ours(struct exchange *x)
{
	if (!x->peer_known)
		x->peer_ours = peer_is_ours_by(agent_fd_good(&agent.asking) ? agent.asking.fd : -1,
					       x->socket);
	x->peer_known = true;
	return x->peer_ours;
}

bool answer_is_known(struct exchange *x)
{
	return x->trusted || has_right_token(&x->request) || is_ours(x);
}

static bool refuse_unknown(struct exchange *x)
{
	if (x->request.has_token) {
		answer_line(x, 403, "the token is wrong");
		return false;
	}
	x->header = "WWW-Authenticate: Bearer\r\n";
	answer_line(x, 401, "the token is missing: Authorization: Bearer TOKEN, from %s",
		    agent.file_path[0] ? agent.file_path : "MEMOIR_AGENT_TOKEN");
	return false;
}

bool answer_may_read(struct exchange *x)
{
	const struct request *r = &x->request;

	/* A client of the socket used no host name. */
	if (!x->trusted && !request_host_allowed(r->host, agent.host, agent.everywhere) &&
	    !request_host_listed(r->host, agent.allowed_hosts)) {
		answer_line(x, 403,
			    "the Host header names another machine: MEMOIR_AGENT_ALLOW_HOST allows "
			    "names");
		return false;
	}
	if (request_from_elsewhere(r)) {
		answer_line(x, 403, "pages from elsewhere may not ask");
		return false;
	}
	return agent.open_to_all || answer_is_known(x) || refuse_unknown(x);
}

bool answer_may_change(struct exchange *x)
{
	const struct request *r = &x->request;

	if (strcmp(r->method, "POST") && strcmp(r->method, "PUT")) {
		x->header = "Allow: POST, PUT\r\n";
		answer_line(x, 405, "this changes the program: POST");
		return false;
	}
	if (r->has_origin) {
		answer_line(x, 403, "pages in a browser may not change the program");
		return false;
	}
	if (x->trusted)
		return true;
	return has_right_token(r) || refuse_unknown(x);
}

bool answer_param(struct exchange *x, const char *name, char *out, size_t room, bool needed)
{
	int found = request_param(&x->request, name, out, room);

	if (found < 0)
		answer_line(x, 400, "%s: not a value", name);
	else if (!found && needed)
		answer_line(x, 400, "%s= is missing", name);
	return found > 0;
}

void answer_log(struct exchange *x, const char *format, ...)
{
	char line[300];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	agent_say("agent: %s: %s", x->from, line);
}
