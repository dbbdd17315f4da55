/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What can be asked: one table, which answers requests, makes /api, and which docs/http-api.md is
 * compared with.
 *
 * Every question of src/answer has a path (see its `path`).  Anything else is a resource: a file
 * <word>.c that ends in a table `routes_<word>` (which ends with a row without a path), and the
 * word in this folder's meson.build. */
#include <stdbool.h>

#include "answer/param.h"

struct question;
struct request;
struct sink;

enum route_method { METHOD_GET = 1, METHOD_POST = 2, METHOD_DELETE = 4 };

enum route_way {
	ROUTE_CACHED, /* computed by a worker, cached for those who ask the same */
	ROUTE_STREAM, /* by a thread of its own, in pieces, as fast as they are taken */
	ROUTE_QUICK,  /* at once */
	ROUTE_UPLOAD, /* with a body: see upload.h */
	ROUTE_RUN,    /* with a body, for as long as its client waits: see runs.h */
	ROUTE_ASKED,  /* by the thread of the agent that it is about: see agent_session.h */
};

struct route {
	const char *path; /* "/data/{id}/flame"; {name*} at the end may have slashes in it */
	unsigned methods; /* enum route_method; GET is HEAD too */
	const char *help;
	const char *type; /* of the answer; NULL: application/json */
	const char *kind; /* of the file that {id} is; NULL: a recording */
	bool any_kind;	  /* a file of any kind */
	const struct param_row *params;
	bool filters;	    /* takes filter rows and expressions */
	bool shows_scripts; /* what a custom filter's script chooses need not be known */
	enum route_way way;
	/* May make a stream of what is cached, or sent when a run has ended, otherwise; NULL: no.
	 */
	bool (*streams)(struct request *r);
	bool checks; /* an expression that cannot be read is not an error: see r->checked */
	/* Writes the answer: 0, or -errno after ask_fail().  Any thread. */
	int (*answer)(struct request *r, struct sink *out);
	const struct question *question; /* whose answer it is; NULL: a resource of the server */
};

/* Is it about the file that {id} names?  ("/data/{id}/…", "/dumps/{id}/…") */
bool route_has_file(const struct route *r);

extern const struct route *const routes[]; /* the resources' tables; NULL at the end */

#define ROUTE_ARGS 3

/* Does a path fit a pattern?  Then what stands for {…} is in ret_args, each the caller's. */
bool route_fits(const char *pattern, const char *path, char *ret_args[ROUTE_ARGS]);
/* The route of a path and method; NULL: none, and then ret_methods are those of the path, 0 if
 * there is no such path. */
const struct route *route_find(const char *path, unsigned method, char *ret_args[ROUTE_ARGS],
			       unsigned *ret_methods);
