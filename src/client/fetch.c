/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Asking for statistics.  See fetch.h. */
#include "client/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/now.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "client/agents.h"

#define OUTPUT_MAX (256u << 20)
#define BLOCK 65536

extern char **environ;

static int set_address(struct fetch *f, const char *text, const char *letters, struct err *err)
{
	int e = http_parse_address(&f->address, text, err);
	char *target = f->address.target;
	size_t n;

	f->command = NULL;
	f->direct = false;
	f->token[0] = 0;
	f->timeout_ms = FETCH_TIMEOUT_MS;
	if (e)
		return e;
	if (!*target || !strcmp(target, "/"))
		strcpy(target, "/stats");
	n = strlen(target);
	if (!strchr(target, '?') && letters && *letters &&
	    (size_t)snprintf(target + n, sizeof(f->address.target) - n, "?%s", letters) >=
		    sizeof(f->address.target) - n)
		return err_set(err, -EINVAL, "'%.100s' is too long for an address", text);
	snprintf(f->name, sizeof(f->name), "%s", text);
	return 0;
}

int fetch_address(struct fetch *f, const char *text, const char *letters, struct err *err)
{
	struct agents_entry agent;
	int e = set_address(f, text, letters, err);

	if (!e && !agents_find(f->address.origin, &agent, NULL))
		memcpy(f->token, agent.token, sizeof(f->token));
	return e;
}

int fetch_pid(struct fetch *f, pid_t pid, const char *letters, struct err *err)
{
	struct agents_entry agent;
	int e = agents_of(pid, &agent, err);

	if (!e)
		e = set_address(f, agent.address, letters, err);
	if (!e)
		memcpy(f->token, agent.token, sizeof(f->token));
	f->direct = !e;
	return e;
}

void fetch_command(struct fetch *f, char **words)
{
	memset(&f->address, 0, sizeof(f->address));
	f->command = words;
	f->timeout_ms = FETCH_TIMEOUT_MS;
	snprintf(f->name, sizeof(f->name), "%s", words[0]);
}

/* In a group of its own, so that a key pressed here does not end it in the middle of a word. */
static int spawn_command(char **words, int out, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int e;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	e = posix_spawnp(ret_pid, words[0], &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -e;
}

static int read_all(int fd, int timeout_ms, struct buf *body, struct err *err)
{
	int64_t until = now_ms() + timeout_ms;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until - now_ms();
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return err_set(err, -ETIMEDOUT, "the command does not end");
		buf_reserve(body, BLOCK);
		n = read_some(fd, body->data + body->size, BLOCK);
		if (n < 0)
			return err_set(err, (int)n, "%s", strerror((int)-n));
		if (!n)
			return 0;
		body->size += (size_t)n;
		if (body->size > OUTPUT_MAX)
			return err_set(err, -EFBIG, "the command prints without end");
	}
}

static int run_command(const struct fetch *f, struct buf *body, struct err *err)
{
	auto_close int in = -1;
	int pipe_fds[2], e, status = 0;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_set(err, -errno, "%s", strerror(errno));
	in = pipe_fds[0];
	e = spawn_command(f->command, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	if (e)
		return err_set(err, e, "%s: %s", f->command[0], strerror(-e));
	e = read_all(in, f->timeout_ms, body, err);
	if (e)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!e && WIFSIGNALED(status))
		e = err_set(err, -EPROTO, "%s was ended by signal %d", f->command[0],
			    WTERMSIG(status));
	else if (!e && WEXITSTATUS(status))
		e = err_set(err, -EPROTO, "%s failed with status %d", f->command[0],
			    WEXITSTATUS(status));
	return e;
}

int fetch_once(const struct fetch *f, struct buf *body, struct err *err)
{
	buf_clear(body);
	if (f->command)
		return run_command(f, body, err);
	return http_ask(&(struct http_call){ .address = &f->address,
					     .method = "GET",
					     .token = f->token,
					     .direct = f->direct,
					     .timeout_ms = f->timeout_ms,
					     .body = body },
			err);
}
