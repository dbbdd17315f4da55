/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers that take as long as their client wants.  See runs.h. */
#include "server/runs.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/parallel.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "server/ending.h"

#define RUN_NICE 10 /* it may hold what others wait for: never without any time */

struct run {
	struct runs *all;
	struct run *next;
	unsigned users; /* the client's connection, and the thread */
	struct request request;
	struct waiter *waiter;
	atomic_bool stop;
	bool gzip, done;
	/* Once it is done. */
	struct fault fault;
	struct buf body;
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

static void compute_run(struct run *run)
{
	struct request *r = &run->request;
	struct sink sink;
	int error;

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
	pthread_mutex_lock(&all->lock);
	run->done = true;
	for (struct run **p = &all->list; *p; p = &(*p)->next)
		if (*p == run) {
			*p = run->next;
			break;
		}
	if (run->waiter)
		run->waiter->wake(run->waiter);
	run->waiter = NULL;
	unuse_run(run);
	if (!--all->running)
		pthread_cond_broadcast(&all->idle);
	pthread_mutex_unlock(&all->lock);
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

struct run *run_new(struct runs *all, struct request *r, bool gzip, struct waiter *w)
{
	struct run *run = xcalloc(1, sizeof(*run));

	*run = (struct run){ .all = all, .users = 2, .request = *r, .waiter = w, .gzip = gzip };
	run->request.stop = &run->stop;
	pthread_mutex_lock(&all->lock);
	if (all->stopping || all->running == RUNS_MAX || !start_thread(run)) {
		pthread_mutex_unlock(&all->lock);
		free(run);
		return NULL;
	}
	*r = (struct request){ 0 };
	all->running++;
	run->next = all->list;
	all->list = run;
	w->sleep(w); /* it cannot be done yet: that wants the lock */
	pthread_mutex_unlock(&all->lock);
	return run;
}

bool run_is_done(struct run *run)
{
	bool done;

	pthread_mutex_lock(&run->all->lock);
	done = run->done;
	pthread_mutex_unlock(&run->all->lock);
	return done;
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
	pthread_mutex_lock(&all->lock);
	run->waiter = NULL;
	unuse_run(run);
	pthread_mutex_unlock(&all->lock);
}

bool runs_stop(struct runs *all, const struct timespec *deadline)
{
	bool ended;

	pthread_mutex_lock(&all->lock);
	all->stopping = true;
	for (struct run *run = all->list; run; run = run->next)
		run->stop = true;
	while (all->running && ending_wait(&all->idle, &all->lock, deadline))
		;
	ended = !all->running;
	pthread_mutex_unlock(&all->lock);
	return ended;
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
