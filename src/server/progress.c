/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /progress: how far the answer to another question is, for clients that wait for it.
 *
 * On the thread that speaks HTTP: it reads counters and waits for nobody. */
#include <string.h>

#include "base/sink.h"
#include "base/xalloc.h"
#include "server/answer_cache.h"
#include "server/request.h"
#include "server/server.h"

/* An answer is cached compressed and not: a browser takes the first. */
static struct answer_cache_progress find_progress(struct request *r, const struct request *of)
{
	struct answer_cache_progress p = { 0 };

	for (int gzip = 1; gzip >= 0 && !p.asked; gzip--) {
		auto_free char *key = request_key(of, gzip);

		p = answer_cache_progress(r->server->answer_cache, key);
	}
	return p;
}

static int answer_progress(struct request *r, struct sink *out)
{
	const char *address = ask_text(&r->ask, "of");
	struct answer_cache_progress p = { 0 };
	struct request of;
	struct json j = { .out = &out->buf, .compact = true };

	if (*address != '/')
		return ask_fail(&r->ask, 400, "of",
				"the address of a question, such as "
				"/data/last/flame?measure=peak");
	if (request_init(&of, r->server, METHOD_GET, address) && r->server->answer_cache)
		p = find_progress(r, &of);
	request_release(&of);
	json_object(&j, NULL);
	json_text(&j, "state", p.computing ? "computing" : p.asked ? "waiting" : "none");
	json_real(&j, "seconds", p.ms / 1000, 3);
	json_number(&j, "pass", p.pass);
	json_real_if(&j, "done", p.pass, p.done, 3);
	json_end_object(&j);
	return 0;
}

static const struct param_row params[] = {
	{ "of", PARAM_TEXT, NULL, "the address of the question", .required = true },
	{ 0 },
};

const struct route routes_progress[] = {
	{ "/progress", METHOD_GET, "how far the answer to a question is", .params = params,
	  .way = ROUTE_QUICK, .answer = answer_progress },
	{ 0 },
};
