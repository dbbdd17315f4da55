/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One request: what was asked (answer/ask.h), checked against its route's table, and how it came.
 *
 * Made by the thread that speaks HTTP, then handed to its handler; one thread at a time. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answer/ask.h"
#include "base/buf_type.h"
#include "base/json.h"
#include "server/route.h"

struct server;
struct agent_session;
struct source_roots;

/* Who asks: filled in where something is to be changed. */
struct visitor {
	bool ours;     /* this server's own user, or root */
	char name[64]; /* "user 1000", or an address */
};

struct request {
	struct server *server;
	struct visitor visitor;
	const struct route *route;
	char *args[ROUTE_ARGS]; /* what stands for {…} in the path */
	struct ask ask;
	struct agent_session *agent_session; /* of {agent}; NULL: the path has none */
	struct buf body;		     /* ROUTE_RUN: what was sent */
	const atomic_bool *stop;	     /* ROUTE_RUN: nobody waits for the answer any more */
	struct source_roots *roots; /* where sources may be read; NULL: nobody wanted to yet */
	/* What the answer says of itself. */
	const char *type; /* instead of the route's */
	char *file_name;  /* of a download */
	bool packed;	  /* it is compressed already */
	bool foreign;	  /* a document with scripts of its own, which must not have our rights */
};

/* Takes an address apart and looks up everything in it: true, or false with r->ask.fault.  Released
 * in either case. */
bool request_init(struct request *r, struct server *s, unsigned method, const char *address);
void request_release(struct request *r);

/* What the answer depends on: the path, what was asked beyond the usual, and which state of which
 * recordings it is about.  Two ways to ask the same have the same.  The caller frees it. */
char *request_key(const struct request *r, bool gzip);
