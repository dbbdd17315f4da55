/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One running agent.  See watch.h. */
#include "server/watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xalloc.h"
#include "jemalloc/http_client.h"
#include "jemalloc/sampled.h"
#include "jemalloc/snapshots.h"
#include "jemalloc/stats_write.h"
#include "server/ending.h"
#include "server/watch_series.h"

/* Everything but what is large and not shown: sums, bins, large classes, mutexes, extents. */
#define LOOK "/stats?Jmdblxeh"
#define LOOK_TIMEOUT_MS 5000
#define AGAIN_MS 10000 /* before one that failed is asked again for the list */
#define FRESH_MS 2000  /* statistics that are handed on without asking */
#define IDLE_MS 60000  /* a lost one is kept so long for those who look at it */
#define ERROR_SIZE 320

struct asked {
	struct asked *next;
	struct watch *watch;
	unsigned users; /* the client's connection, and the thread or the queue; the watch's lock */
	struct request request;
	struct waiter *waiter;
	bool done;
	struct buf body;
};

struct watch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, ending;
	unsigned users;
	int stop_fd;
	char id[WATCH_ID_SIZE];
	bool given, lost;
	struct agents_entry agent;
	struct asked *first, **last;
	unsigned waiting;
	bool wanted; /* one look, for the list */
	int64_t looked_ms, used_ms;
	/* Only its thread writes what follows, with the lock. */
	int64_t tried_ms, said_ms; /* when it was last asked, when it last answered */
	int64_t said_at;	   /* the same, since 1970 */
	char error[ERROR_SIZE];	   /* of the last time; "": none */
	char version[64];
	bool prof, prof_active;
	struct buf now; /* JSON */
	unsigned files;
	struct watch_series series;
};

static int64_t clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

struct watch *watch_new(const char *id, const struct agents_entry *agent, bool given, int stop_fd)
{
	struct watch *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t attr;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attr);
	pthread_condattr_destroy(&attr);
	snprintf(w->id, sizeof(w->id), "%s", id);
	w->agent = *agent;
	w->given = given;
	w->stop_fd = stop_fd;
	w->users = 1;
	w->last = &w->first;
	w->looked_ms = w->tried_ms = w->said_ms = -AGAIN_MS;
	w->used_ms = now_ms();
	return w;
}

struct watch *watch_hold(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->users++;
	w->used_ms = now_ms();
	pthread_mutex_unlock(&w->lock);
	return w;
}

struct watch *watch_drop(struct watch *w)
{
	bool last;

	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	last = !--w->users;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return NULL;
	watch_stop(w, NULL);
	watch_series_release(&w->series);
	buf_release(&w->now);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

const char *watch_id(const struct watch *w)
{
	return w->id;
}

bool watch_is_given(const struct watch *w)
{
	return w->given;
}

struct agents_entry watch_agent(struct watch *w)
{
	struct agents_entry agent;

	pthread_mutex_lock(&w->lock);
	agent = w->agent;
	pthread_mutex_unlock(&w->lock);
	return agent;
}

bool watch_is(struct watch *w, const struct agents_entry *agent)
{
	struct agents_entry mine = watch_agent(w);

	return !strcmp(mine.address, agent->address) &&
	       (w->given || (mine.pid == agent->pid && !strcmp(mine.token, agent->token)));
}

void watch_found(struct watch *w, const struct agents_entry *agent)
{
	pthread_mutex_lock(&w->lock);
	w->agent = *agent;
	w->lost = false;
	pthread_mutex_unlock(&w->lock);
}

void watch_lost(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->lost = !w->given;
	pthread_mutex_unlock(&w->lock);
}

bool watch_is_lost(struct watch *w)
{
	bool lost;

	pthread_mutex_lock(&w->lock);
	lost = w->lost;
	pthread_mutex_unlock(&w->lock);
	return lost;
}

bool watch_is_idle(struct watch *w)
{
	bool idle;

	pthread_mutex_lock(&w->lock);
	idle = w->users == 1 && now_ms() - w->used_ms > IDLE_MS;
	pthread_mutex_unlock(&w->lock);
	return idle;
}

/* The thread's part. */

static const char *setting(const struct stats *s, const char *name)
{
	const char *value = stats_setting(s, name);

	return value ? value : "";
}

static void write_prof(struct json *j, const struct stats *s)
{
	static const char *const switches[] = { "active", "thread_active_init", "gdump" };
	const char *lg = setting(s, "prof.lg_sample");

	json_object(j, "prof");
	json_bool(j, "enabled", !strcmp(setting(s, "opt.prof"), "true"));
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		auto_free char *name = xasprintf("prof.%s", switches[i]);
		const char *value = stats_setting(s, name);

		if (value)
			json_bool(j, switches[i], !strcmp(value, "true"));
	}
	if (*lg)
		json_number(j, "lg_sample", strtoull(lg, NULL, 10));
	json_bool(j, "accum", !strcmp(setting(s, "opt.prof_accum"), "true"));
	json_end_object(j);
}

static void write_arenas(struct json *j, const struct stats *s)
{
	char room[24];

	json_array(j, "arenas");
	for (size_t i = 0; i < s->arena_count; i++) {
		if (s->arenas[i].id < 0)
			continue;
		json_object(j, NULL);
		json_text(j, "arena", stats_arena_name(s->arenas[i].id, room));
		stats_write_fields(j, stats_arena_fields, s->arenas[i].value);
		json_end_object(j);
	}
	json_end_array(j);
}

/* What the heap profiler itself has of what is allocated and of what is active besides: bytes. What
 * is asked for each second has no bins, so that is an estimate, and of versions that have samples
 * elsewhere nothing. */
static uint64_t profiler_bytes(const struct stats *s)
{
	bool padded = !strcmp(setting(s, "opt.cache_oblivious"), "true");
	uint64_t sum = 0;

	for (size_t i = 0; i < s->arena_count; i++) {
		struct sampled sampled;

		if (s->arenas[i].id < 0)
			continue;
		sampled_make(&sampled, s, &s->arenas[i], padded);
		sum += sampled.allocated + sampled.pages;
	}
	return sum;
}

/* With the lock held. */
static void take_in(struct watch *w, const struct stats *s)
{
	const struct watch_point *p;
	struct json j;

	w->said_at = clock_ms(CLOCK_REALTIME);
	w->said_ms = now_ms();
	p = watch_series_add(&w->series, s, w->said_at);
	memcpy(w->version, s->version, sizeof(w->version));
	w->prof = !strcmp(setting(s, "opt.prof"), "true");
	w->prof_active = !strcmp(setting(s, "prof.active"), "true");
	buf_clear(&w->now);
	json_init(&j, &w->now);
	j.compact = true;
	json_object(&j, NULL);
	json_text(&j, "id", w->id);
	json_number(&j, "pid", (uint64_t)w->agent.pid);
	json_text(&j, "program", w->agent.program);
	json_text(&j, "version", s->version);
	json_number(&j, "number", p->number);
	json_number(&j, "time_ms", (uint64_t)p->time_ms);
	json_object(&j, "stats");
	stats_write_fields(&j, stats_total_fields, s->total);
	for (unsigned i = WATCH_DIRTY; i < WATCH_CURVES; i++)
		if (p->value[i] < STATS_NONE)
			json_number(&j, watch_curves[i], p->value[i]);
	json_number(&j, "profiler", profiler_bytes(s));
	json_end_object(&j);
	json_object(&j, "shape");
	stats_write_fields(&j, stats_shape_fields, s->shape);
	json_end_object(&j);
	write_prof(&j, s);
	write_arenas(&j, s);
	json_end_object(&j);
}

/* The number behind `key`, or the text; for /status, which the agent wrote. */
static const char *after(const struct buf *body, const char *key)
{
	const char *at = body->size ? strstr(body->data, key) : NULL;

	return at ? at + strlen(key) : NULL;
}

/* An address that was given says nothing of its process. */
static void learn(struct watch *w, const struct buf *status)
{
	const char *pid = after(status, "\"pid\":"), *program = after(status, "\"program\":\"");

	pthread_mutex_lock(&w->lock);
	if (pid)
		w->agent.pid = (pid_t)strtol(pid, NULL, 10);
	if (program) {
		size_t n = strcspn(program, "\"\\");

		snprintf(w->agent.program, sizeof(w->agent.program), "%.*s", (int)n, program);
	}
	pthread_mutex_unlock(&w->lock);
}

/* 0 with any status, or -errno with err, which says it as a sentence. */
static int call(struct watch *w, const char *method, const char *target, int timeout_ms,
		unsigned *ret_status, struct buf *body, struct err *err)
{
	struct agents_entry agent = watch_agent(w);
	struct http_address address;
	struct http_call c = { .address = &address,
			       .method = method,
			       .token = agent.token,
			       .timeout_ms = timeout_ms,
			       .stop_fd = w->stop_fd,
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
	if (agent.pid > 0 && *agent.program && !w->given && kill(agent.pid, 0) && errno == ESRCH)
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

static int look(struct watch *w, struct err *err)
{
	struct buf body = { 0 };
	struct snapshots r;
	unsigned status = 0;
	int e = 0;

	if (w->given && !watch_agent(w).pid &&
	    !call(w, "GET", "/status", LOOK_TIMEOUT_MS, &status, &body, err) && status == 200)
		learn(w, &body);
	e = call(w, "GET", LOOK, LOOK_TIMEOUT_MS, &status, &body, err);
	if (!e && status != 200)
		e = refused(status, &body, err);
	if (!e) {
		snapshots_memory(&r, body.data, body.size);
		e = snapshots_next(&r, err);
		if (e == 1) {
			pthread_mutex_lock(&w->lock);
			take_in(w, &r.stats);
			pthread_mutex_unlock(&w->lock);
			e = 0;
		} else if (!e) {
			e = err_set(err, -EBADMSG, "the agent's answer holds no statistics");
		}
		snapshots_close(&r);
	}
	buf_release(&body);
	return e;
}

/* Asks, and notes what came of it. */
static void try(struct watch *w)
{
	struct err err = { .text = "" };
	int64_t began = now_ms();
	int e = look(w, &err);

	pthread_mutex_lock(&w->lock);
	w->tried_ms = began;
	w->wanted = false;
	if (e && w->given)
		w->agent.pid = 0; /* another one may come there */
	snprintf(w->error, sizeof(w->error), "%s", e ? err.text : "");
	pthread_mutex_unlock(&w->lock);
}

int watch_look(struct request *r)
{
	struct watch *w = r->watch;
	char error[ERROR_SIZE];
	int64_t now = now_ms();
	bool fresh, wait;

	pthread_mutex_lock(&w->lock);
	w->looked_ms = now;
	fresh = now - w->said_ms < FRESH_MS && !*w->error;
	wait = now - w->tried_ms < WATCH_EVERY_MS;
	pthread_mutex_unlock(&w->lock);
	if (!fresh && !wait)
		try(w);
	pthread_mutex_lock(&w->lock);
	memcpy(error, w->error, sizeof(error));
	fresh = w->now.size != 0;
	pthread_mutex_unlock(&w->lock);
	if (*error || !fresh)
		return request_fail(r, 502, NULL, "%s",
				    *error ? error : "the agent has not answered yet");
	return 0;
}

void watch_look_again(struct watch *w)
{
	bool looked;

	pthread_mutex_lock(&w->lock);
	looked = now_ms() - w->looked_ms < WATCH_LOOKED_MS;
	pthread_mutex_unlock(&w->lock);
	if (looked)
		try(w);
}

void watch_write_now(struct watch *w, struct sink *out)
{
	pthread_mutex_lock(&w->lock);
	buf_add(&out->buf, w->now.data, w->now.size);
	pthread_mutex_unlock(&w->lock);
}

void watch_write_series(struct watch *w, struct json *j, uint64_t from)
{
	pthread_mutex_lock(&w->lock);
	watch_series_write(j, &w->series, from);
	pthread_mutex_unlock(&w->lock);
}

unsigned watch_next_file(struct watch *w)
{
	return ++w->files;
}

int watch_call(struct request *r, const char *method, const char *target, int timeout_ms,
	       struct buf *body)
{
	struct err err;
	unsigned status = 0;
	int n = 0, e = call(r->watch, method, target, timeout_ms, &status, body, &err);

	if (e)
		return request_fail(r, e == -ENAMETOOLONG ? 400 : 502, NULL, "%s", err.text);
	if (status == 200)
		return 0;
	while ((size_t)n < body->size && n < 300 && (unsigned char)body->data[n] >= ' ')
		n++;
	/* Ours would be asked for. */
	if (status == 401)
		return request_fail(r, 502, NULL,
				    "the agent wants a token: start the server with "
				    "--agent-token-file FILE");
	return request_fail(r, status >= 400 && status < 600 ? (int)status : 502, NULL, "%.*s",
			    n ? n : 24, n ? body->data : "the agent refuses this");
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	buf_add(context, bytes, size);
	return 0;
}

/* The list of agents has the watch too, so the last one here never is its last user. */
static void unuse(struct asked *a)
{
	struct watch *w = a->watch;
	bool last;

	pthread_mutex_lock(&w->lock);
	last = !--a->users;
	pthread_mutex_unlock(&w->lock);
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

static struct asked *pop(struct watch *w)
{
	struct asked *a = w->first;

	if (!a)
		return NULL;
	w->first = a->next;
	if (!w->first)
		w->last = &w->first;
	w->waiting--;
	return a;
}

static void answer(struct watch *w, struct asked *a)
{
	struct request *r = &a->request;
	struct sink sink;
	bool wanted;

	pthread_mutex_lock(&w->lock);
	wanted = a->users > 1; /* somebody still waits */
	pthread_mutex_unlock(&w->lock);
	if (wanted) {
		sink_to_function(&sink, take_bytes, &a->body, SINK_PLAIN);
		if (r->route->answer(r, &sink))
			sink_cancel(&sink);
		else
			sink_finish(&sink, NULL);
	}
	pthread_mutex_lock(&w->lock);
	finish(a);
	pthread_mutex_unlock(&w->lock);
	unuse(a);
}

static void wait_until(struct watch *w, int64_t ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000) * 1000000 };

	pthread_cond_timedwait(&w->changed, &w->lock, &t);
}

static void *run(void *context)
{
	struct watch *w = context;

	pthread_mutex_lock(&w->lock);
	while (!w->ending) {
		struct asked *a = pop(w);
		int64_t now = now_ms();
		bool looked = w->wanted || now - w->looked_ms < WATCH_LOOKED_MS;

		if (a || (looked && now - w->tried_ms >= WATCH_EVERY_MS)) {
			pthread_mutex_unlock(&w->lock);
			if (a)
				answer(w, a);
			else
				try(w);
			pthread_mutex_lock(&w->lock);
		} else if (looked) {
			wait_until(w, w->tried_ms + WATCH_EVERY_MS);
		} else {
			pthread_cond_wait(&w->changed, &w->lock);
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* With the lock held. */
static bool start(struct watch *w)
{
	if (!w->started && !w->ending)
		w->started = !pthread_create(&w->thread, NULL, run, w);
	return w->started && !w->ending;
}

bool watch_stop(struct watch *w, const struct timespec *deadline)
{
	struct asked *a;

	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->changed);
	while ((a = pop(w))) {
		request_fail(&a->request, 503, NULL, "the server ends");
		finish(a);
		pthread_mutex_unlock(&w->lock);
		unuse(a);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	if (w->started && !ending_join(w->thread, deadline))
		return false;
	w->started = false;
	return true;
}

struct asked *watch_ask(struct request *r, struct waiter *waiter)
{
	struct watch *w = r->watch;
	struct asked *a = xcalloc(1, sizeof(*a));

	pthread_mutex_lock(&w->lock);
	if (w->waiting >= WATCH_QUEUE_MAX || !start(w)) {
		pthread_mutex_unlock(&w->lock);
		free(a);
		return NULL;
	}
	a->watch = w;
	a->users = 2;
	a->request = *r;
	*r = (struct request){ 0 };
	a->waiter = waiter;
	waiter->sleep(waiter);
	*w->last = a;
	w->last = &a->next;
	w->waiting++;
	w->used_ms = now_ms();
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return a;
}

bool asked_is_done(struct asked *a)
{
	bool done;

	pthread_mutex_lock(&a->watch->lock);
	done = a->done;
	pthread_mutex_unlock(&a->watch->lock);
	return done;
}

const struct fault *asked_fault(const struct asked *a)
{
	return &a->request.fault;
}

const struct buf *asked_body(const struct asked *a)
{
	return &a->body;
}

void asked_drop(struct asked *a)
{
	pthread_mutex_lock(&a->watch->lock);
	a->waiter = NULL;
	pthread_mutex_unlock(&a->watch->lock);
	unuse(a);
}

void watch_list(struct watch *w, struct json *j)
{
	const char *state;

	pthread_mutex_lock(&w->lock);
	/* Once; what is known stays true enough for a list. */
	if (!w->now.size && !w->wanted && now_ms() - w->tried_ms >= AGAIN_MS && start(w)) {
		w->wanted = true;
		pthread_cond_signal(&w->changed);
	}
	state = *w->error ? "error" : w->now.size ? "ready" : "asking";
	json_object(j, NULL);
	json_text(j, "id", w->id);
	json_number(j, "pid", (uint64_t)w->agent.pid);
	json_text(j, "program", w->agent.program);
	json_text(j, "address", w->agent.address);
	json_bool(j, "given", w->given);
	json_text(j, "state", state);
	if (*w->error)
		json_text(j, "error", w->error);
	else
		json_null(j, "error");
	if (w->now.size) {
		json_text(j, "version", w->version);
		json_bool(j, "prof", w->prof);
		json_bool(j, "prof_active", w->prof_active);
		json_number(j, "time_ms", (uint64_t)w->said_at);
	}
	json_end_object(j);
	pthread_mutex_unlock(&w->lock);
}
