/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A request over HTTP/1, read from bytes that may be anything.  Pure functions; a fuzz target. */
#include <stdbool.h>
#include <stddef.h>

#define REQUEST_HEAD_MAX 16384u
#define REQUEST_BODY_MAX (1u << 20)

struct request {
	char method[8];
	char path[256];	  /* decoded */
	char query[2048]; /* behind the question mark, as it came */
	char host[256];	  /* empty: there was none */
	char token[128];  /* of Authorization: Bearer, or X-Memoir-Token */
	bool has_token;
	bool has_origin; /* it comes from a page in a browser */
	bool foreign;	 /* a browser says that the page is another site's */
	bool navigates;	 /* and that a link was followed */
	char origin[256];
	bool expects_continue;
	bool keep_alive; /* it said so: who says nothing may wait for the end of the connection */
	size_t head_size, body_size;
};

/* Reads as much as there is.  1: the head is complete, the body is body_size bytes behind
 * head_size; 0: more is needed; otherwise the status to refuse it with, negative, and why. */
int request_parse(struct request *r, const char *bytes, size_t size, const char **ret_why);
/* The value of `name` in the query, decoded.  1: it is there; 0: not; -1: it is no value (bad
 * encoding, too long, a control character). */
int request_param(const struct request *r, const char *name, char *out, size_t room);
/* Is there a parameter in the query that is none of these words, which have blanks between them?
 * Its name, cut, is in out. */
bool request_unknown_param(const struct request *r, const char *words, char *out, size_t room);
/* Does a page that is not ours ask?  Its answer would go to others than the user. */
bool request_from_elsewhere(const struct request *r);
/* May a client have meant us by this Host?  Names of other machines are refused: a page in a
 * browser may have been told that its own name is our address. */
bool request_host_allowed(const char *host, const char *listening, bool everywhere);
/* Is it one of these names, with commas between them?  The port does not count. */
bool request_host_listed(const char *host, const char *list);
