/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One question: what was asked, checked against its route's table; and what resources ask it for.
 *
 * Made by the thread that speaks HTTP, then handed to whoever answers it; one thread at a time. */
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "query/measure.h"
#include "query/view.h"
#include "server/params.h"
#include "server/route.h"
#include "server/snapshot.h"

struct server;
struct agent_session;

/* Why there is no answer. */
struct fault {
	int status; /* of HTTP; 0: there is none */
	char text[400];
	char parameter[64]; /* "": none */
	int64_t position;   /* in its value, in UTF-16 units; -1: none */
	unsigned methods;   /* 405 */
	double progress;    /* 503: of what is being loaded; below 0: not that */
};

/* Who asks: filled in where something is to be changed. */
struct visitor {
	bool ours;     /* this server's own user, or root */
	char name[64]; /* "user 1000", or an address */
};

struct request {
	struct server *server;
	struct visitor visitor;
	const struct route *route;
	struct params params;
	char *args[ROUTE_ARGS];		     /* what stands for {…} in the path */
	struct snapshot *snapshot;	     /* of {id}; NULL: the path has none */
	struct agent_session *agent_session; /* of {agent}; NULL likewise */
	struct filter *filter;		     /* NULL: none, or taken by request_view() */
	struct held_view *held;
	struct fault fault;
	struct fault checked; /* of routes that check: what is wrong with the expression */
	/* What the answer says of itself. */
	const char *type; /* instead of the route's */
	char *file_name;  /* of a download */
	bool packed;	  /* it is compressed already */
	bool foreign;	  /* a document with scripts of its own, which must not have our rights */
};

/* Takes an address apart and looks up everything in it: true, or false with r->fault.  Released in
 * either case. */
bool request_init(struct request *r, struct server *s, unsigned method, const char *address);
void request_release(struct request *r);

/* Notes what is wrong and returns -EINVAL.  `parameter` may be NULL. */
int request_fail(struct request *r, int status, const char *parameter, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same of an err of `parameter`'s value, with the position if there is one. */
int request_fail_err(struct request *r, const char *parameter, const struct err *err);

/* A parameter as it was given, else what its row says; NULL: neither. */
const char *request_text(const struct request *r, const char *name);
/* Was it given? */
bool request_has(const struct request *r, const char *name);
/* A number; "all" is UINT32_MAX, and so is more. */
uint32_t request_count(const struct request *r, const char *name);
bool request_bool(const struct request *r, const char *name);
double request_real(const struct request *r, const char *name);
/* weight=count? */
bool request_by_count(const struct request *r);
/* order=dsc? */
bool request_descending(const struct request *r);
/* A moment in ns after the start; false if it was not given. */
bool request_time(const struct request *r, const char *name, const struct model *m,
		  uint64_t *ret_ns);
/* A moment as text; false if it is none. */
bool request_time_text(const char *text, const struct model *m, uint64_t *ret_ns);
/* What measure, at and below say: 0, or -EINVAL after request_fail(). */
int request_measuring(struct request *r, const struct model *m, struct measuring *ret_measuring);
/* "measure", "at_ns". */
void request_measuring_json(struct json *j, const struct model *m, const struct measuring *how);
/* The allocations that its filters choose; NULL after request_fail(). */
const struct view *request_view(struct request *r);
/* Another recording by id, with the same filters: the caller gives both back with request_give().
 * NULL after request_fail(). */
struct other {
	struct snapshot *snapshot;
	struct held_view *held;
};
bool request_other(struct request *r, const char *parameter, const char *id,
		   struct other *ret_other);
void request_give(struct other *o);
/* Another file of a kind, which the caller drops; NULL after request_fail(). */
struct snapshot *request_file(struct request *r, const char *parameter, const char *id,
			      const char *kind);
/* What the answer depends on: the path, what was asked beyond the usual, and which state of which
 * recordings it is about.  Two ways to ask the same have the same.  The caller frees it. */
char *request_key(const struct request *r, bool gzip);
/* Compact JSON into a sink. */
void request_json(struct json *j, struct sink *out);

/* Rows that many tables have. */
#define PARAM_MEASURES "leaked|peak|allocated|temporary|alive|alive_at|short_lived"
#define PARAMS_MEASURE(otherwise)                                                                  \
	{ "measure",	  PARAM_CHOICE, otherwise, "what is weighed", .values = PARAM_MEASURES,    \
	  .telling = true },                                                                       \
		{ "at", PARAM_TIME, NULL, "the moment; means alive" },                             \
	{                                                                                          \
		"below", PARAM_DURATION, NULL, "for short_lived"                                   \
	}
#define PARAMS_PAGE(otherwise)                                                                     \
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },                                    \
	{                                                                                          \
		"count", PARAM_COUNT, otherwise, "rows at most"                                    \
	}
#define PARAM_WEIGHT                                                                               \
	{                                                                                          \
		"weight", PARAM_CHOICE, "bytes", "what orders, prunes and is drawn",               \
			.values = "bytes|count"                                                    \
	}
#define PARAM_ORDER(otherwise)                                                                     \
	{                                                                                          \
		"order", PARAM_CHOICE, otherwise, "asc or dsc", .values = "asc|dsc|desc"           \
	}
#define PARAM_STRIP                                                                                \
	{                                                                                          \
		"strip_template_args", PARAM_BOOL, "false",                                        \
			"template arguments of C++ become <...>"                                   \
	}
