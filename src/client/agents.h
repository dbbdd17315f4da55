/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Processes that have an agent, by the files that it left (src/agent/listen.c).
 *
 * Such a file is jemalloc.PID in memoir/ of the user's runtime folder ($XDG_RUNTIME_DIR, else
 * /run/user/UID) or in /tmp/memoir-UID.  It must belong to the process's user or to root.  Its
 * lines: an address as http.h has it, without a path; the token that changes need; the
 * program. */
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct buf;

struct agents_entry {
	pid_t pid;
	char address[300];
	char token[128];
	char program[300];
};

/* From now on agents get this token, whatever their files say; before that MEMOIR_AGENT_TOKEN if it
 * is set. */
void agents_use_token(const char *token);
/* The agent of one process; 0, or -errno with err. */
int agents_of(pid_t pid, struct agents_entry *ret, struct err *err);
/* The agent that somebody means: a process number, or an address, whose token is known if it left a
 * file here.  0, or -errno with err. */
int agents_find(const char *text, struct agents_entry *ret, struct err *err);
/* Those of this user, by process number, and how many; the caller frees them.  Files of processes
 * that are gone are removed. */
size_t agents_list(struct agents_entry **ret);
/* Asks one for a path; 0, or -errno with err (-EINVAL: its address is none, -EPROTO: it refuses).
 */
int agents_ask(const struct agents_entry *agent, const char *method, const char *target,
	       int timeout_ms, struct buf *body, struct err *err);
