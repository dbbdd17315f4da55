/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One running agent (src/agent), and all that is asked of it.
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

#define WATCH_ID_SIZE 24
#define WATCH_EVERY_MS 1000
#define WATCH_LOOKED_MS 5000 /* since the last question: then nobody looks any more */
#define WATCH_QUEUE_MAX 64   /* questions that wait */

struct watch;

/* `stop_fd`: once it can be read, nothing is waited for any more. */
struct watch *watch_new(const char *id, const struct agents_entry *agent, bool given, int stop_fd);
struct watch *watch_hold(struct watch *w);
/* The last one ends its thread; NULL always. */
struct watch *watch_drop(struct watch *w);
/* Its questions are answered with 503 from now on, and its thread has ended. */
bool watch_stop(struct watch *w, const struct timespec *deadline);

const char *watch_id(const struct watch *w);
bool watch_is_given(const struct watch *w);
/* What is known of it; a copy. */
struct agents_entry watch_agent(struct watch *w);
/* The same address, token and process? */
bool watch_is(struct watch *w, const struct agents_entry *agent);
/* Its file was found, or is gone; a given one learns its token and process by that. */
void watch_found(struct watch *w, const struct agents_entry *agent);
void watch_lost(struct watch *w);
bool watch_is_lost(struct watch *w);
/* Nobody but the caller holds it, and nobody has looked for a minute. */
bool watch_is_idle(struct watch *w);
/* One row of /agents; what is not known yet is asked for, once. */
void watch_list(struct watch *w, struct json *j);

/* A question about it. */
struct asked;
/* Takes the request, whose `watch` it is; `w` sleeps and is woken when it is answered.  NULL: there
 * are too many. */
struct asked *watch_ask(struct request *r, struct waiter *w);
bool asked_is_done(struct asked *a);
/* Once it is done. */
const struct fault *asked_fault(const struct asked *a);
const struct buf *asked_body(const struct asked *a);
void asked_drop(struct asked *a);

/* For those who answer, on its thread: */

/* Makes sure that there are statistics of this second: 0, or -EINVAL after request_fail(). */
int watch_look(struct request *r);
/* Something was changed: whoever looks sees it at once. */
void watch_look_again(struct watch *w);
/* The last ones, as a whole object. */
void watch_write_now(struct watch *w, struct sink *out);
void watch_write_series(struct watch *w, struct json *j, uint64_t from);
/* 1, 2 …: for names of files. */
unsigned watch_next_file(struct watch *w);
/* One request to the agent: 0 with its body, or -EINVAL after request_fail(). */
int watch_call(struct request *r, const char *method, const char *target, int timeout_ms,
	       struct buf *body);
