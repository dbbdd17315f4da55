/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the profiler knows about single blocks: the last ones that were sampled, and a log of those
 * that are freed from a moment on.
 *
 * jemalloc writes addresses alone; the maps are added, so that names can be found later.  The log
 * is written to a path, when it ends: in the agent's own folder, which nobody else can write to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/answer.h"
#include "agent/embed.h"
#include "agent/jemalloc.h"

#define RECENT "experimental.prof_recent."
#define LOG_MAX ((off_t)1 << 30)

static pid_t logging; /* the process that a log is being written of; 0: none */

static void log_take_piece(void *context, const char *piece)
{
	text_str(context, piece);
}

/* 0 or an errno. */
static int read_whole(const char *path, struct text *out)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int e = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		e = EIO;
	else if (st.st_size > LOG_MAX || !text_reserve(out, (size_t)st.st_size + 1))
		e = EFBIG;
	while (!e && out->size < (size_t)st.st_size) {
		ssize_t n = read(fd, out->data + out->size, (size_t)st.st_size - out->size);

		if (n <= 0)
			e = EIO;
		else
			out->size += (size_t)n;
	}
	close(fd);
	return e;
}

static void recent_failed(struct exchange *x, const char *name, int e)
{
	if (e == ENOENT)
		answer_missing(x, name);
	else
		answer_line(x, 500, "%s: %s", name, strerror(e));
}

/* /prof/recent */
void log_recent(struct exchange *x)
{
	/* As jemalloc takes it. */
	struct {
		void (*write)(void *, const char *);
		void *context;
	} to = { log_take_piece, &x->out };
	ssize_t max = 0;
	int e;

	if (!answer_needs_prof(x))
		return;
	e = jemalloc_get(RECENT "alloc_max", &max);
	if (!e && !max) {
		answer_line(x, 409,
			    "no recent blocks are kept: POST /control/prof/recent?value=N first");
		return;
	}
	if (!e)
		e = jemalloc_set(RECENT "alloc_dump", &to, sizeof(to));
	if (e) {
		x->out.size = 0;
		recent_failed(x, RECENT "alloc_dump", e);
		return;
	}
	embed_maps(&x->out);
	x->type = "application/json";
}

static void log_path(char *path, size_t room)
{
	snprintf(path, room, "%s.log", agent.file_path);
}

/* /control/prof/log/start */
void log_start(struct exchange *x)
{
	char path[200];
	const char *name = path;
	int e;

	if (!answer_may_change(x) || !answer_needs_prof(x))
		return;
	if (!agent.file_path[0]) {
		answer_line(x, 500, "there is no folder that a log could be written to");
		return;
	}
	if (logging == agent.pid) {
		answer_line(x, 409, "a log is being written; /control/prof/log/stop ends it");
		return;
	}
	log_path(path, sizeof(path));
	unlink(path);
	e = jemalloc_set("prof.log_start", &name, sizeof(name));
	if (e == ENOENT) {
		answer_missing(x, "prof.log_start");
		return;
	}
	if (e) {
		answer_line(x, e == EFAULT ? 409 : 500,
			    "prof.log_start: jemalloc refuses this (%s)", strerror(e));
		return;
	}
	logging = agent.pid;
	answer_log(x, "prof.log_start");
	x->type = "application/json";
	text_str(&x->out, "{\"prof.log_start\":null}\n");
}

/* /control/prof/log/stop */
void log_stop(struct exchange *x)
{
	char path[200];
	int e;

	if (!answer_may_change(x) || !answer_needs_prof(x))
		return;
	if (logging != agent.pid) {
		answer_line(x, 409, "no log is being written; /control/prof/log/start begins one");
		return;
	}
	logging = 0;
	e = jemalloc_set("prof.log_stop", NULL, 0);
	log_path(path, sizeof(path));
	if (!e)
		e = read_whole(path, &x->out);
	unlink(path);
	if (e) {
		x->out.size = 0;
		answer_line(x, 500, "prof.log_stop: %s", strerror(e));
		return;
	}
	answer_log(x, "prof.log_stop");
	embed_maps(&x->out);
	x->type = "application/json";
}

/* jemalloc ends a log when the program ends; nobody has asked for that one. */
void log_forget(void)
{
	char path[200];

	if (logging != agent.pid || !agent.file_path[0])
		return;
	log_path(path, sizeof(path));
	unlink(path);
}
