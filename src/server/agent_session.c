/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The server's session with one running agent.  See agent_session.h. */
#include "server/agent_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/hold_lock.h"
#include "base/now.h"
#include "base/sink.h"
#include "base/timed_cond.h"
#include "base/xalloc.h"
#include "client/http.h"
#include "jemalloc/agent_series.h"
#include "jemalloc/snapshots.h"
#include "server/ending.h"

/* Everything but what is large and not shown: sums, bins, large classes, mutexes, extents. */
#define STATS_TARGET "/stats?Jmdblxeh"
#define STATS_TIMEOUT_MS 5000
#define AGAIN_MS 10000 /* before one that failed is asked again for the list */
#define FRESH_MS 2000  /* statistics that are handed on without asking */
#define IDLE_MS 60000  /* a lost one is kept so long for those who look at it */
#define ERROR_SIZE 320

struct asked {
	struct asked *next;
	struct agent_session *session;
	unsigned users; /* the client's connection, and the thread or the queue; the session's lock
			 */
	struct request request;
	struct waiter *waiter;
	bool done;
	struct buf body;
};

struct agent_session {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, ending;
	unsigned users;
	int stop_fd;
	char id[AGENT_SESSION_ID_SIZE];
	bool given, lost;
	struct agents_entry agent;
	struct asked *first, **last;
	unsigned waiting;
	bool wanted; /* the statistics once, for the list */
	int64_t viewed_ms, used_ms;
	/* Only its thread writes what follows, with the lock. */
	int64_t tried_ms, said_ms; /* when it was last asked, when it last answered */
	int64_t said_at;	   /* the same, since 1970 */
	char error[ERROR_SIZE];	   /* of the last time; "": none */
	char version[64];
	bool prof, prof_active;
	struct buf now; /* JSON */
	unsigned files;
	struct agent_series series;
};

struct agent_session *agent_session_new(const char *id, const struct agents_entry *agent,
					bool given, int stop_fd)
{
	struct agent_session *session = xcalloc(1, sizeof(*session));

	pthread_mutex_init(&session->lock, NULL);
	timed_cond_init(&session->changed);
	snprintf(session->id, sizeof(session->id), "%s", id);
	session->agent = *agent;
	session->given = given;
	session->stop_fd = stop_fd;
	session->users = 1;
	session->last = &session->first;
	session->viewed_ms = session->tried_ms = session->said_ms = -AGAIN_MS;
	session->used_ms = now_ms();
	return session;
}

struct agent_session *agent_session_hold(struct agent_session *session)
{
	hold_lock(&session->lock);
	session->users++;
	session->used_ms = now_ms();
	return session;
}

struct agent_session *agent_session_drop(struct agent_session *session)
{
	bool last;

	if (!session)
		return NULL;
	pthread_mutex_lock(&session->lock);
	last = !--session->users;
	pthread_mutex_unlock(&session->lock);
	if (!last)
		return NULL;
	agent_session_stop(session, NULL);
	agent_series_release(&session->series);
	buf_release(&session->now);
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->lock);
	free(session);
	return NULL;
}

const char *agent_session_id(const struct agent_session *session)
{
	return session->id;
}

struct agents_entry agent_session_agent(struct agent_session *session)
{
	hold_lock(&session->lock);
	return session->agent;
}

bool agent_session_is(struct agent_session *session, const struct agents_entry *agent)
{
	struct agents_entry mine = agent_session_agent(session);

	return !strcmp(mine.address, agent->address) &&
	       (session->given || (mine.pid == agent->pid && !strcmp(mine.token, agent->token)));
}

void agent_session_found(struct agent_session *session, const struct agents_entry *agent)
{
	hold_lock(&session->lock);
	session->agent = *agent;
	session->lost = false;
}

void agent_session_lost(struct agent_session *session)
{
	hold_lock(&session->lock);
	session->lost = !session->given;
}

bool agent_session_is_lost(struct agent_session *session)
{
	hold_lock(&session->lock);
	return session->lost;
}

bool agent_session_is_idle(struct agent_session *session)
{
	hold_lock(&session->lock);
	return session->users == 1 && now_ms() - session->used_ms > IDLE_MS;
}

/* The thread's part. */

/* With the lock held. */
static void take_in(struct agent_session *session, const struct stats *s)
{
	const struct agent_point *p;
	struct json j = { .out = &session->now, .compact = true };

	session->said_at = (int64_t)(now_on(CLOCK_REALTIME) / 1000000);
	session->said_ms = now_ms();
	p = agent_series_add(&session->series, s, session->said_at);
	memcpy(session->version, s->version, sizeof(session->version));
	session->prof = stats_setting_is(s, "opt.prof", "true");
	session->prof_active = stats_setting_is(s, "prof.active", "true");
	buf_clear(&session->now);
	json_object(&j, NULL);
	json_text(&j, "id", session->id);
	json_number(&j, "pid", (uint64_t)session->agent.pid);
	json_text(&j, "program", session->agent.program);
	agent_series_write_point(&j, p, s);
	json_end_object(&j);
}

/* The number behind `key`, or the text; for /status, which the agent wrote. */
static const char *after(const struct buf *body, const char *key)
{
	const char *at = body->size ? strstr(body->data, key) : NULL;

	return at ? at + strlen(key) : NULL;
}

/* An address that was given says nothing of its process. */
static void learn(struct agent_session *session, const struct buf *status)
{
	const char *pid = after(status, "\"pid\":"), *program = after(status, "\"program\":\"");

	hold_lock(&session->lock);
	if (pid)
		session->agent.pid = (pid_t)strtol(pid, NULL, 10);
	if (program) {
		size_t n = strcspn(program, "\"\\");

		snprintf(session->agent.program, sizeof(session->agent.program), "%.*s", (int)n,
			 program);
	}
}

/* 0 with any status, or -errno with err, which says it as a sentence. */
static int call(struct agent_session *session, const char *method, const char *target,
		int timeout_ms, unsigned *ret_status, struct buf *body, struct err *err)
{
	struct agents_entry agent = agent_session_agent(session);
	struct http_address address;
	struct http_call c = { .address = &address,
			       .method = method,
			       .token = agent.token,
			       .direct = !session->given,
			       .timeout_ms = timeout_ms,
			       .stop_fd = session->stop_fd,
			       .body = body };
	struct err why;
	int e = http_parse_address(&address, agent.address, err);

	if (e)
		return e;
	if (strlen(target) >= sizeof(address.target))
		return err_set(err, -ENAMETOOLONG, "that is too long");
	strcpy(address.target, target);
	e = http_call(&c, &why);
	*ret_status = c.status;
	if (!e)
		return 0;
	if (agent.pid > 0 && *agent.program && !session->given && kill(agent.pid, 0) &&
	    errno == ESRCH)
		return err_set(err, e, "process %d has ended", (int)agent.pid);
	return err_set(err, e, "the agent at %.90s does not answer: %.100s", agent.address,
		       why.text);
}

static int refused(unsigned status, const struct buf *body, struct err *err)
{
	int n = 0;

	while ((size_t)n < body->size && n < 200 && body->data[n] >= ' ')
		n++;
	return err_set(err, -EPROTO, "the agent says %u: %.*s", status, n, body->data);
}

static int fetch_stats(struct agent_session *session, struct err *err)
{
	auto_buf struct buf body = { 0 };
	struct snapshots r;
	unsigned status = 0;
	int e = 0;

	if (session->given && !agent_session_agent(session).pid &&
	    !call(session, "GET", "/status", STATS_TIMEOUT_MS, &status, &body, err) &&
	    status == 200)
		learn(session, &body);
	e = call(session, "GET", STATS_TARGET, STATS_TIMEOUT_MS, &status, &body, err);
	if (!e && status != 200)
		e = refused(status, &body, err);
	if (!e) {
		snapshots_memory(&r, body.data, body.size);
		e = snapshots_next(&r, err);
		if (e == 1) {
			pthread_mutex_lock(&session->lock);
			take_in(session, &r.stats);
			pthread_mutex_unlock(&session->lock);
			e = 0;
		} else if (!e) {
			e = err_set(err, -EBADMSG, "the agent's answer holds no statistics");
		}
		snapshots_close(&r);
	}
	return e;
}

/* Asks, and notes what came of it. */
static void poll_agent(struct agent_session *session)
{
	struct err err = { .text = "" };
	int64_t began = now_ms();
	int e = fetch_stats(session, &err);

	hold_lock(&session->lock);
	session->tried_ms = began;
	session->wanted = false;
	if (e && session->given)
		session->agent.pid = 0; /* another one may come there */
	snprintf(session->error, sizeof(session->error), "%s", e ? err.text : "");
}

int agent_session_refresh(struct request *r)
{
	struct agent_session *session = r->agent_session;
	char error[ERROR_SIZE];
	int64_t now = now_ms();
	bool fresh, wait;

	pthread_mutex_lock(&session->lock);
	session->viewed_ms = now;
	fresh = now - session->said_ms < FRESH_MS && !*session->error;
	wait = now - session->tried_ms < AGENT_SESSION_EVERY_MS;
	pthread_mutex_unlock(&session->lock);
	if (!fresh && !wait)
		poll_agent(session);
	pthread_mutex_lock(&session->lock);
	memcpy(error, session->error, sizeof(error));
	fresh = session->now.size != 0;
	pthread_mutex_unlock(&session->lock);
	if (*error || !fresh)
		return ask_fail(&r->ask, 502, NULL, "%s",
				*error ? error : "the agent has not answered yet");
	return 0;
}

void agent_session_refresh_if_viewed(struct agent_session *session)
{
	bool viewed;

	pthread_mutex_lock(&session->lock);
	viewed = now_ms() - session->viewed_ms < AGENT_SESSION_VIEWED_MS;
	pthread_mutex_unlock(&session->lock);
	if (viewed)
		poll_agent(session);
}

void agent_session_write_now(struct agent_session *session, struct sink *out)
{
	hold_lock(&session->lock);
	buf_add(&out->buf, session->now.data, session->now.size);
}

void agent_session_write_series(struct agent_session *session, struct json *j, uint64_t from)
{
	hold_lock(&session->lock);
	agent_series_write(j, &session->series, from);
}

unsigned agent_session_next_file(struct agent_session *session)
{
	return ++session->files;
}

int agent_session_call(struct request *r, const char *method, const char *target, int timeout_ms,
		       struct buf *body)
{
	struct err err;
	unsigned status = 0;
	int n = 0, e = call(r->agent_session, method, target, timeout_ms, &status, body, &err);

	if (e)
		return ask_fail(&r->ask, e == -ENAMETOOLONG ? 400 : 502, NULL, "%s", err.text);
	if (status == 200)
		return 0;
	while ((size_t)n < body->size && n < 300 && (unsigned char)body->data[n] >= ' ')
		n++;
	/* Ours would be asked for. */
	if (status == 401)
		return ask_fail(&r->ask, 502, NULL,
				"the agent wants a token: start the server with "
				"--agent-token-file FILE");
	return ask_fail(&r->ask, status >= 400 && status < 600 ? (int)status : 502, NULL, "%.*s",
			n ? n : 24, n ? body->data : "the agent refuses this");
}

/* The list of agents holds the session too, so the last one here never is its last user. */
static void unuse(struct asked *a)
{
	struct agent_session *session = a->session;
	bool last;

	pthread_mutex_lock(&session->lock);
	last = !--a->users;
	pthread_mutex_unlock(&session->lock);
	if (!last)
		return;
	buf_release(&a->body);
	request_release(&a->request);
	free(a);
}

/* With the lock held. */
static void finish(struct asked *a)
{
	struct waiter *waiter = a->waiter;

	a->done = true;
	a->waiter = NULL;
	if (waiter)
		waiter->wake(waiter);
}

static struct asked *pop(struct agent_session *session)
{
	struct asked *a = session->first;

	if (!a)
		return NULL;
	session->first = a->next;
	if (!session->first)
		session->last = &session->first;
	session->waiting--;
	return a;
}

static void answer_agent_session(struct agent_session *session, struct asked *a)
{
	struct request *r = &a->request;
	struct sink sink;
	bool wanted;

	pthread_mutex_lock(&session->lock);
	wanted = a->users > 1; /* somebody still waits */
	pthread_mutex_unlock(&session->lock);
	if (wanted) {
		sink_to_buf(&sink, &a->body, SINK_PLAIN);
		if (r->route->answer(r, &sink))
			sink_cancel(&sink);
		else
			sink_finish(&sink, NULL);
	}
	pthread_mutex_lock(&session->lock);
	finish(a);
	pthread_mutex_unlock(&session->lock);
	unuse(a);
}

static void *session_thread(void *context)
{
	struct agent_session *session = context;

	pthread_mutex_lock(&session->lock);
	while (!session->ending) {
		struct asked *a = pop(session);
		int64_t now = now_ms();
		bool viewed = session->wanted || now - session->viewed_ms < AGENT_SESSION_VIEWED_MS;

		if (a || (viewed && now - session->tried_ms >= AGENT_SESSION_EVERY_MS)) {
			pthread_mutex_unlock(&session->lock);
			if (a)
				answer_agent_session(session, a);
			else
				poll_agent(session);
			pthread_mutex_lock(&session->lock);
		} else if (viewed) {
			timed_cond_wait(&session->changed, &session->lock,
					(uint64_t)(session->tried_ms + AGENT_SESSION_EVERY_MS) *
						1000000);
		} else {
			pthread_cond_wait(&session->changed, &session->lock);
		}
	}
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

/* With the lock held. */
static bool start(struct agent_session *session)
{
	if (!session->started && !session->ending)
		session->started = !pthread_create(&session->thread, NULL, session_thread, session);
	return session->started && !session->ending;
}

bool agent_session_stop(struct agent_session *session, const struct timespec *deadline)
{
	struct asked *a;

	pthread_mutex_lock(&session->lock);
	session->ending = true;
	pthread_cond_signal(&session->changed);
	while ((a = pop(session))) {
		ask_fail(&a->request.ask, 503, NULL, "the server ends");
		finish(a);
		pthread_mutex_unlock(&session->lock);
		unuse(a);
		pthread_mutex_lock(&session->lock);
	}
	pthread_mutex_unlock(&session->lock);
	if (session->started && !ending_join(session->thread, deadline))
		return false;
	session->started = false;
	return true;
}

struct asked *agent_session_ask(struct request *r, struct waiter *waiter)
{
	struct agent_session *session = r->agent_session;
	struct asked *a = xcalloc(1, sizeof(*a));

	hold_lock(&session->lock);
	if (session->waiting >= AGENT_SESSION_QUEUE_MAX || !start(session)) {
		free(a);
		return NULL;
	}
	a->session = session;
	a->users = 2;
	a->request = *r;
	*r = (struct request){ 0 };
	a->waiter = waiter;
	waiter->sleep(waiter);
	*session->last = a;
	session->last = &a->next;
	session->waiting++;
	session->used_ms = now_ms();
	pthread_cond_signal(&session->changed);
	return a;
}

bool asked_is_done(struct asked *a)
{
	hold_lock(&a->session->lock);
	return a->done;
}

const struct fault *asked_fault(const struct asked *a)
{
	return &a->request.ask.fault;
}

const struct buf *asked_body(const struct asked *a)
{
	return &a->body;
}

void asked_drop(struct asked *a)
{
	pthread_mutex_lock(&a->session->lock);
	a->waiter = NULL;
	pthread_mutex_unlock(&a->session->lock);
	unuse(a);
}

void agent_session_list(struct agent_session *session, struct json *j)
{
	const char *state;

	hold_lock(&session->lock);
	/* Once; what is known stays true enough for a list. */
	if (!session->now.size && !session->wanted && now_ms() - session->tried_ms >= AGAIN_MS &&
	    start(session)) {
		session->wanted = true;
		pthread_cond_signal(&session->changed);
	}
	state = *session->error ? "error" : session->now.size ? "ready" : "asking";
	json_object(j, NULL);
	json_text(j, "id", session->id);
	json_number(j, "pid", (uint64_t)session->agent.pid);
	JSON_MEMBERS(j, &session->agent, program, address);
	json_bool(j, "given", session->given);
	json_text(j, "state", state);
	json_text(j, "error", *session->error ? session->error : NULL);
	if (session->now.size) {
		JSON_MEMBERS(j, session, version, prof, prof_active);
		json_number(j, "time_ms", (uint64_t)session->said_at);
	}
	json_end_object(j);
}
