/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /, POST /upload, DELETE /data/{id}: what is not about one recording's content.
 *
 * Where the build has the page, http.c sends it before it comes here. */
#include <errno.h>

#include "base/buf_text.h"
#include "base/sink.h"
#include "server/library.h"
#include "server/request.h"
#include "server/server.h"

static int answer_page(struct request *r, struct sink *out)
{
	buf_text(&out->buf,
		 "<!doctype html><meta charset=utf-8><title>memoir</title><p>This build of "
		 "memoir has no page; <a href=\"/api\">/api</a> lists what can be asked.\n");
	return 0;
}

static int answer_list(struct request *r, struct sink *out)
{
	struct json j = { .out = &out->buf, .compact = true };

	library_list(r->server->library, &j);
	return 0;
}

static int answer_delete(struct request *r, struct sink *out)
{
	const struct visitor *v = &r->visitor;
	int error = library_remove(r->server->library, r->args[0], v->ours ? NULL : v->name);

	if (error == -ENOENT)
		return ask_fail(&r->ask, 404, NULL, "there is no recording '%.40s'", r->args[0]);
	if (error == -EACCES)
		return ask_fail(&r->ask, 403, NULL, "only who sent it may remove it");
	if (error)
		return ask_fail(&r->ask, 409, NULL, "only what was uploaded can be removed");
	return 0;
}

static const struct param_row upload_params[] = {
	{ "name", PARAM_TEXT, "upload", "what it shall be called" },
	{ 0 },
};

const struct route routes_page[] = {
	{ "/", METHOD_GET, "the page", .type = "text/html; charset=utf-8", .way = ROUTE_QUICK,
	  .answer = answer_page },
	{ "/list", METHOD_GET, "all recordings", .way = ROUTE_QUICK, .answer = answer_list },
	{ "/upload", METHOD_POST, "opens a file that is sent", .params = upload_params,
	  .way = ROUTE_UPLOAD },
	{ "/data/{id}", METHOD_DELETE, "forgets an uploaded recording", .way = ROUTE_QUICK,
	  .answer = answer_delete },
	{ 0 },
};
