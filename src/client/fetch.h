/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where a live process's statistics come from: an agent's address, a command that prints them, or a
 * process whose agent left a file with its address (agents.h). */
#include <sys/types.h>

#include "base/err.h"
#include "client/http.h"

struct buf;

struct fetch {
	struct http_address address;
	char **command;	 /* instead of an address; ends with NULL */
	char token[128]; /* of the agent; empty: none is known */
	bool direct;	 /* the agent of a process here: no proxy */
	int timeout_ms;
	char name[640]; /* for messages and heads */
};

#define FETCH_TIMEOUT_MS 10000

/* `letters`: options of malloc_stats_print, used where the address has no query of its own (and the
 * path /stats where it has no path).  0, or -EINVAL with err. */
int fetch_address(struct fetch *f, const char *text, const char *letters, struct err *err);
int fetch_pid(struct fetch *f, pid_t pid, const char *letters, struct err *err);
/* The words are kept, not copied. */
void fetch_command(struct fetch *f, char **words);
/* One answer, as it came; 0, or -errno with err. */
int fetch_once(const struct fetch *f, struct buf *body, struct err *err);
