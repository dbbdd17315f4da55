/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One request over HTTP/1.1, to a port or a unix socket: enough to ask the agent.
 *
 * Blocks until the answer is there or `timeout_ms` are over. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct http_address {
	char host[256]; /* empty: a unix socket */
	char port[8];
	char socket[108];
	char target[4096]; /* path and query */
};

/* http://HOST[:PORT][/PATH][?QUERY], HOST in brackets for IPv6, or unix:/SOCKET[:/PATH…].
 * 0, or -EINVAL with err. */
int http_parse_address(struct http_address *a, const char *text, struct err *err);
/* The body of a good answer (200 to 299); 0, or -errno with err (-EBADMSG: it is no HTTP; -EPROTO:
 * another status, whose text is in err). */
int http_get(const struct http_address *a, int timeout_ms, struct buf *body, struct err *err);
/* The same with another method and without a body; `token` (or NULL) allows changes. */
int http_ask(const struct http_address *a, const char *method, const char *token, int timeout_ms,
	     struct buf *body, struct err *err);

/* A POST with a body; `answer` is that of the answer. */
int http_post(const struct http_address *a, const char *type, const struct buf *content,
	      int timeout_ms, struct buf *answer, struct err *err);
/* Adds a value for a query, with %XX for all but letters, digits and - . _ / */
void http_escape(struct buf *out, const char *value);

/* Adds a parameter to a path. */
void http_add_param(struct buf *target, const char *name, const char *value);

/* One request, for those who want to know the status, or may have to stop early. */
struct http_call {
	const struct http_address *address;
	const char *method;
	const char *token;	   /* NULL: none */
	const char *type;	   /* of what is sent; NULL: not said */
	const struct buf *content; /* NULL: nothing is sent */
	int timeout_ms;
	int stop_fd;	 /* below 0: none; once it can be read, the call ends with -ECANCELED */
	unsigned status; /* then: of the answer */
	struct buf *body;
};
/* 0 for an answer of any status, or -errno with err. */
int http_call(struct http_call *c, struct err *err);

/* What http_parse_answer() does, with any status. */
int http_parse_reply(const char *text, size_t size, bool ended, unsigned *ret_status,
		     struct buf *body, struct err *err);
/* For http_get() and the fuzz target: an answer, as far as it has come.  1: it is complete and
 * `body` is its body; 0: there is more to come; -errno with err.  `ended`: the other side has
 * closed. */
int http_parse_answer(const char *text, size_t size, bool ended, struct buf *body, struct err *err);
