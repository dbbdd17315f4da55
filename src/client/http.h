/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One request over HTTP/1.1 and libcurl: to an agent, or to a server that takes profiles.
 *
 * Blocks until the answer is there or `timeout_ms` are over; any thread may call it.  Redirections
 * are answers like others.  Certificates are checked with those of the system, or with what
 * CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR name, as curl does; http_proxy and its like are
 * followed, but never for this computer. */
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf;

struct http_address {
	char origin[300];  /* as it was given, without the path */
	char socket[108];  /* of a unix socket; empty: none */
	bool local;	   /* on this computer by its name */
	char target[4096]; /* path and query */
};

/* Does a text begin like one? */
bool http_is_address(const char *text);
/* http[s]://HOST[:PORT][/PATH][?QUERY], HOST in brackets for IPv6, or unix:/SOCKET[:/PATH…].
 * 0, or -EINVAL with err. */
int http_parse_address(struct http_address *a, const char *text, struct err *err);
/* From now on certificates are checked with those of this file, before any thread asks. */
void http_use_ca_file(const char *path);

/* Adds a value for a query, with %XX for all but letters, digits and - . _ / */
void http_escape(struct buf *out, const char *value);
/* Adds a parameter to a path. */
void http_add_param(struct buf *target, const char *name, const char *value);

struct http_call {
	const struct http_address *address;
	const char *method;
	const char *token;	    /* NULL or "": none */
	const char *type;	    /* of what is sent; NULL: not said */
	const char *const *headers; /* more, "Name: value" each, NULL at the end; may be NULL */
	const struct buf *content;  /* NULL: nothing is sent */
	bool direct;		    /* without a proxy, wherever it is */
	int timeout_ms;
	int stop_fd;	 /* 0: none; once it can be read, the call ends with -ECANCELED */
	unsigned status; /* then: of the answer */
	struct buf *body;
};

/* 0 for an answer of any status, or -errno with err. */
int http_call(struct http_call *c, struct err *err);
/* The same; but a status that is not 200 to 299 is -EPROTO, and its text in err. */
int http_ask(struct http_call *c, struct err *err);
