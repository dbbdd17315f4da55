/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The sessions with all running agents that the server knows: those whose files are in the user's
 * folder (jemalloc/agents.h), looked for when somebody asks, and those whose address was given. */
#include "base/err.h"
#include "base/json.h"
#include "server/agent_session.h"

struct agent_sessions;
struct agent_sessions *agent_sessions_new(void);
/* Nothing is asked of any agent any more. */
bool agent_sessions_stop(struct agent_sessions *l, const struct timespec *deadline);
struct agent_sessions *agent_sessions_free(struct agent_sessions *l);

/* An address (http://HOST:PORT, unix:/SOCKET) or a process number; `token` may be NULL.  0, or
 * -errno with err. */
int agent_sessions_add(struct agent_sessions *l, const char *address, const char *token,
		       struct err *err);

/* By id, which the caller drops; NULL: none. */
struct agent_session *agent_sessions_hold(struct agent_sessions *l, const char *id);
/* All of them as an array. */
void agent_sessions_list(struct agent_sessions *l, struct json *j, const char *key);
