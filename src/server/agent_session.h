/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A session with one running agent (src/agent): all that the server asks of it.
 *
 * A thread of its own asks it, so that an agent that is slow or dead keeps nobody waiting but those
 * who ask about it.  While somebody looks it is asked for its statistics once a second, however
 * many look; when nobody has for a while, it is left alone. */
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/json.h"
#include "client/agents.h"
#include "server/request.h"
#include "server/waiter.h"

struct buf;

#define AGENT_SESSION_ID_SIZE 24
#define AGENT_SESSION_EVERY_MS 1000
#define AGENT_SESSION_VIEWED_MS 5000 /* since the last question: then nobody views it */
#define AGENT_SESSION_QUEUE_MAX 64   /* questions that wait */

struct agent_session;

/* `stop_fd`: once it can be read, nothing is waited for any more. */
struct agent_session *agent_session_new(const char *id, const struct agents_entry *agent,
					bool given, int stop_fd);
struct agent_session *agent_session_hold(struct agent_session *session);
/* The last one ends its thread; NULL always. */
struct agent_session *agent_session_drop(struct agent_session *session);
/* Its questions are answered with 503 from now on, and its thread has ended. */
bool agent_session_stop(struct agent_session *session, const struct timespec *deadline);

const char *agent_session_id(const struct agent_session *session);
/* What is known of it; a copy. */
struct agents_entry agent_session_agent(struct agent_session *session);
/* The same address, token and process? */
bool agent_session_is(struct agent_session *session, const struct agents_entry *agent);
/* Its file was found, or is gone; a given one learns its token and process by that. */
void agent_session_found(struct agent_session *session, const struct agents_entry *agent);
void agent_session_lost(struct agent_session *session);
bool agent_session_is_lost(struct agent_session *session);
/* Nobody but the caller holds it, and nobody has looked for a minute. */
bool agent_session_is_idle(struct agent_session *session);
/* One row of /agents; what is not known yet is asked for, once. */
void agent_session_list(struct agent_session *session, struct json *j);

/* A question about it. */
struct asked;
/* Takes the request, whose `agent_session` it is; `w` sleeps and is woken when it is answered.
 * NULL: there are too many. */
struct asked *agent_session_ask(struct request *r, struct waiter *w);
bool asked_is_done(struct asked *a);
/* Once it is done. */
const struct fault *asked_fault(const struct asked *a);
const struct buf *asked_body(const struct asked *a);
void asked_drop(struct asked *a);

/* For those who answer, on its thread: */

/* Makes sure that there are statistics of this second: 0, or -EINVAL after request_fail(). */
int agent_session_refresh(struct request *r);
/* Something was changed: those who view it see it at once. */
void agent_session_refresh_if_viewed(struct agent_session *session);
/* The last ones, as a whole object. */
void agent_session_write_now(struct agent_session *session, struct sink *out);
void agent_session_write_series(struct agent_session *session, struct json *j, uint64_t from);
/* 1, 2 …: for names of files. */
unsigned agent_session_next_file(struct agent_session *session);
/* One request to the agent: 0 with its body, or -EINVAL after request_fail(). */
int agent_session_call(struct request *r, const char *method, const char *target, int timeout_ms,
		       struct buf *body);
