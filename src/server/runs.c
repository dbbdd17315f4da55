/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers that take as long as their client wants.  See runs.h. */
#include "server/runs.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hold_lock.h"
#include "base/parallel.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "server/ending.h"

#define RUN_NICE 10 /* it may hold what others wait for: never without any time */

struct run {
	struct runs *all;
	struct run *next;
	enum run_kind kind;
	unsigned users; /* the client's connection, and the thread */
	struct request request;
	char visitor[sizeof(((struct visitor *)0)->name)]; /* the request is released earlier */
	struct waiter *waiter;
	atomic_bool stop;
	bool gzip, done;
	bool streams;	 /* what is in the body is sent as it comes */
	struct buf body; /* once it is done, or, with the lock, as far as it is */
	/* Once it is done. */
	struct fault fault;
};

struct runs {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct run *list; /* those whose thread runs */
	unsigned running;
	bool stopping;
};

struct runs *runs_new(void)
{
	struct runs *l = xcalloc(1, sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->idle, NULL);
	return l;
}

/* With the lock held. */
static void unuse_run(struct run *run)
{
	if (--run->users)
		return;
	buf_release(&run->body);
	free(run);
}

static void wake_waiter(struct run *run)
{
	if (run->waiter)
		run->waiter->wake(run->waiter);
	run->waiter = NULL;
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	struct run *run = context;

	hold_lock(&run->all->lock);
	buf_add(&run->body, bytes, size);
	wake_waiter(run);
	return 0;
}

static void compute_run(struct run *run)
{
	struct request *r = &run->request;
	struct sink sink;
	int error;

	if (run->streams)
		sink_to_function(&sink, take_bytes, run, SINK_PLAIN);
	else
		sink_to_buf(&sink, &run->body, run->gzip ? SINK_GZIP : SINK_PLAIN);
	error = r->route->answer(r, &sink);
	if (error)
		sink_cancel(&sink);
	else
		error = sink_finish(&sink, NULL);
	if (error && !r->ask.fault.status)
		ask_fail(&r->ask, 500, NULL, "%s", strerror(-error));
	run->fault = r->ask.fault;
	request_release(r);
}

static void *run_thread(void *context)
{
	struct run *run = context;
	struct runs *all = run->all;

	pthread_setname_np(pthread_self(), "script");
	if (setpriority(PRIO_PROCESS, (id_t)gettid(), RUN_NICE) < 0)
		errno = 0; /* then it is as loud as the others */
	parallel_quietly();
	compute_run(run);
	hold_lock(&all->lock);
	run->done = true;
	for (struct run **p = &all->list; *p; p = &(*p)->next)
		if (*p == run) {
			*p = run->next;
			break;
		}
	wake_waiter(run);
	unuse_run(run);
	if (!--all->running)
		pthread_cond_broadcast(&all->idle);
	return NULL;
}

/* With the lock held. */
static bool start_thread(struct run *run)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attr, run_thread, run);
	pthread_attr_destroy(&attr);
	return !error;
}

/* Is there a place for one more of its kind and visitor?  With the lock held. */
static bool has_place(const struct runs *all, const struct run *run)
{
	unsigned max = run->kind == RUN_SCRIPT ? RUNS_MAX : RUNS_CHOOSING_MAX, all_of = 0, own = 0;

	for (const struct run *other = all->list; other; other = other->next) {
		if (other->kind != run->kind)
			continue;
		all_of++;
		own += !strcmp(other->visitor, run->visitor);
	}
	return all_of < max && own < max / 2;
}

struct run *run_new(struct runs *all, enum run_kind kind, struct request *r, bool gzip,
		    struct waiter *w)
{
	struct run *run = xcalloc(1, sizeof(*run));

	*run = (struct run){ .all = all, .kind = kind, .users = 2, .request = *r, .waiter = w };
	run->streams = r->route->streams && r->route->streams(r);
	run->gzip = gzip && !run->streams;
	memcpy(run->visitor, r->visitor.name, sizeof(run->visitor));
	run->request.stop = &run->stop;
	hold_lock(&all->lock);
	if (all->stopping || !has_place(all, run) || !start_thread(run)) {
		free(run);
		return NULL;
	}
	*r = (struct request){ 0 };
	all->running++;
	run->next = all->list;
	all->list = run;
	w->sleep(w); /* it cannot be done yet: that wants the lock */
	return run;
}

bool run_is_ready(struct run *run)
{
	hold_lock(&run->all->lock);
	return run->done || (run->streams && run->body.size);
}

ssize_t run_read(struct run *run, uint64_t position, char *to, size_t room, struct waiter *w)
{
	ssize_t n;

	hold_lock(&run->all->lock);
	n = (ssize_t)(run->body.size - position);
	if (n) {
		n = n < (ssize_t)room ? n : (ssize_t)room;
		memcpy(to, run->body.data + position, (size_t)n);
	} else if (run->done) {
		n = run->fault.status ? RUN_BROKEN : RUN_END;
	} else {
		run->waiter = w;
		w->sleep(w);
	}
	return n;
}

bool run_streams(const struct run *run)
{
	return run->streams;
}

const struct fault *run_fault(const struct run *run)
{
	return &run->fault;
}

const struct buf *run_body(const struct run *run)
{
	return &run->body;
}

bool run_is_gzip(const struct run *run)
{
	return run->gzip;
}

void run_drop(struct run *run)
{
	struct runs *all = run->all;

	run->stop = true;
	hold_lock(&all->lock);
	run->waiter = NULL;
	unuse_run(run);
}

bool runs_stop(struct runs *all, const struct timespec *deadline)
{
	hold_lock(&all->lock);
	all->stopping = true;
	for (struct run *run = all->list; run; run = run->next)
		run->stop = true;
	while (all->running && ending_wait(&all->idle, &all->lock, deadline))
		;
	return !all->running;
}

struct runs *runs_free(struct runs *all)
{
	if (!all)
		return NULL;
	runs_stop(all, NULL);
	pthread_mutex_destroy(&all->lock);
	pthread_cond_destroy(&all->idle);
	free(all);
	return NULL;
}
