/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* POST /data/{id}/find_names: asks the debuginfod servers for the names that a recording lacks.
 *
 * It makes this server ask others, with build ids out of the recording: so who may only read may
 * not (http.c), what somebody sent is for who sent it, and where DEBUGINFOD_URLS names no server
 * none is asked. */
#include <errno.h>

#include "base/sink.h"
#include "server/library.h"
#include "server/request.h"
#include "server/server.h"
#include "symbols/symbols.h"

static int answer_find_names(struct request *r, struct sink *out)
{
	const struct visitor *v = &r->visitor;
	const char *problem = symbols_debuginfod_problem();
	struct json j = { .out = &out->buf, .compact = true };
	int error;

	if (problem)
		return ask_fail(&r->ask, 409, NULL, "%s", problem);
	error = library_find_names(r->server->library, r->ask.snapshot->id,
				   v->ours ? NULL : v->name);
	if (error == -EACCES)
		return ask_fail(&r->ask, 403, NULL, "only who sent it may ask for its names");
	if (error)
		return ask_fail(&r->ask, 404, NULL, "it is not open any more");
	json_object(&j, NULL);
	json_bool(&j, "looking", true);
	json_end_object(&j);
	return 0;
}

const struct route routes_find_names[] = {
	{ "/data/{id}/find_names", METHOD_POST,
	  "asks the servers of DEBUGINFOD_URLS for the names that it lacks", .way = ROUTE_QUICK,
	  .answer = answer_find_names },
	{ 0 },
};
