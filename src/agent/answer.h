/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A request that came in whole, and what is answered: filled in by the functions of the routes. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/request.h"
#include "agent/text.h"

struct exchange {
	struct request request;
	const char *body;	    /* of the request */
	bool trusted;		    /* it came over the unix socket, from this user */
	int socket;		    /* of the connection */
	bool peer_known, peer_ours; /* was its other end's user asked for; is it this one */
	char from[64];		    /* who asks, for the log of changes */

	int status;	    /* 200 at first */
	const char *type;   /* of what is in out */
	const char *header; /* one more line with its end, or NULL */
	struct text out;
	/* Answered later: when `wait_ms` are over, again() is called with the same exchange. */
	int64_t wait_ms;
	void (*again)(struct exchange *x);
	struct text earlier; /* between the two */
};

/* An answer that is one line of text.  A wrong one is the same with another status. */
void answer_line(struct exchange *x, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Answers 503 where there is no jemalloc; then false. */
bool answer_needs_jemalloc(struct exchange *x);
/* The same, and 409 where profiling was not enabled. */
bool answer_needs_prof(struct exchange *x);
/* Is it this user's own process, or one with the token? */
bool answer_is_known(struct exchange *x);
/* May this be answered at all?  Answers 401 or 403 where it may not; then false. */
bool answer_may_read(struct exchange *x);
/* May this request change something?  Answers 405, 401 or 403 where it may not; then false. */
bool answer_may_change(struct exchange *x);
/* A parameter; false: it is wrong (answered), or missing.  `needed`: that is answered too. */
bool answer_param(struct exchange *x, const char *name, char *out, size_t room, bool needed);
/* One line about a change that was made. */
void answer_log(struct exchange *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The whole answer to a whole request. */
void routes_answer(struct exchange *x);

/* What the routes are made of, by file. */
void stats_status(struct exchange *x);
void stats_print(struct exchange *x);
void stats_json(struct exchange *x);
void metrics_print(struct exchange *x);
void dump_heap(struct exchange *x);
void dump_mtev(struct exchange *x);
void pprof_heap(struct exchange *x);
void symbol_names(struct exchange *x);
void symbol_cmdline(struct exchange *x);
void control_read(struct exchange *x);
void control_write(struct exchange *x);
void control_single(struct exchange *x);
void control_prof_reset(struct exchange *x);
void control_purge(struct exchange *x);
void control_decay_ms(struct exchange *x);
void control_dump(struct exchange *x);
void log_recent(struct exchange *x);
void log_start(struct exchange *x);
void log_stop(struct exchange *x);
/* missing.c: 501 or 404, with the version that has it. */
void answer_missing(struct exchange *x, const char *name);
