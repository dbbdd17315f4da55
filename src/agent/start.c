/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The life of the agent: it waits for the program's first wait, starts its thread then, is off in
 * forked children, and on again in one that becomes a daemon.
 *
 * Why so late: until then the program is what it would be without us, single-threaded where it is,
 * free to fork into the background, to change its user and its namespaces.  And a program that
 * never waits is seldom one that somebody wants to look into; MEMOIR_AGENT_START=now is for those.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/jemalloc.h"
#include "agent/objects.h"

#define DEFAULT_LISTEN "127.0.0.1:7790"
#define HIGH_FD 960 /* programs count and close low ones */

struct agent agent = { .listener = { .fd = -1 }, .bell = { .fd = -1 }, .asking = { .fd = -1 } };

int64_t agent_now_ms(void)
{
	struct timespec t = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void remember(struct agent_fd *f, int fd)
{
	struct stat st = { 0 };

	*f = (struct agent_fd){ .fd = -1 };
	if (fd >= 0 && !fstat(fd, &st))
		*f = (struct agent_fd){ fd, st.st_dev, st.st_ino };
}

struct agent_fd agent_fd_own(int fd)
{
	struct agent_fd f = { .fd = -1 };
	struct rlimit limit = { 0, 0 };
	int high = -1;

	if (fd < 0)
		return f;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur > HIGH_FD + 32)
		high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	remember(&f, fd);
	return f;
}

bool agent_fd_good(const struct agent_fd *f)
{
	struct agent_fd now;

	if (f->fd < 0)
		return false;
	remember(&now, f->fd);
	return now.fd >= 0 && now.device == f->device && now.inode == f->inode;
}

void agent_fd_close(struct agent_fd *f)
{
	if (agent_fd_good(f))
		close(f->fd);
	f->fd = -1;
}

void agent_say(const char *format, ...)
{
	char line[512] = "memoir: ";
	va_list list;
	int n;

	if (agent.quiet || !agent_fd_good(&agent.standard_error))
		return;
	va_start(list, format);
	n = vsnprintf(line + 8, sizeof(line) - 9, format, list);
	va_end(list);
	n = 8 + (n < 0 ? 0 : n > (int)sizeof(line) - 10 ? (int)sizeof(line) - 10 : n);
	/* A client's words may be in it: none of them commands the terminal. */
	for (int i = 8; i < n; i++) {
		unsigned char c = (unsigned char)line[i], before = (unsigned char)line[i - 1];

		if (c < 0x20 || c == 0x7f ||
		    (c >= 0x80 && c < 0xa0 && (before < 0x80 || before == 0xc2)))
			line[i] = '?';
	}
	line[n++] = '\n';
	if (write(agent.standard_error.fd, line, (size_t)n) < 0)
		return;
}

static void *agent_thread(void *unused)
{
	prctl(PR_SET_NAME, "memoir-agent");
	if (!listen_open()) {
		atomic_store(&agent.state, AGENT_OFF);
		return NULL;
	}
	atomic_store(&agent.state, AGENT_ON);
	serve();
	return NULL;
}

/* Is a signal blocked, as while its handler runs?  Then the allocator may be in the middle of
 * something that a new thread's start would wait for. */
static bool signals_blocked(void)
{
	sigset_t now;

	if (pthread_sigmask(SIG_BLOCK, NULL, &now))
		return true;
	for (int i = 1; i < 32; i++)
		if (sigismember(&now, i) == 1)
			return true;
	return false;
}

void agent_trigger(bool maybe_in_handler)
{
	int expected = AGENT_PENDING, saved = errno;
	sigset_t all, before;

	if (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_PENDING)
		return;
	/* Between vfork and exec the memory is the parent's. */
	if (agent.pid != getpid() || (maybe_in_handler && signals_blocked()) ||
	    !atomic_compare_exchange_strong(&agent.state, &expected, AGENT_STARTING)) {
		errno = saved;
		return;
	}
	agent.bell = agent_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	/* The thread inherits the mask.  libc keeps its own signals out of it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (waits_create_thread(agent_thread)) {
		agent_say("the agent cannot start: no thread");
		agent_fd_close(&agent.bell);
		atomic_store(&agent.state, AGENT_OFF);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}

void agent_new_session(void)
{
	int expected = AGENT_OFF;

	if (agent.listen[0] && agent.pid == getpid())
		atomic_compare_exchange_strong(&agent.state, &expected, AGENT_PENDING);
}

void agent_main_leaves(void)
{
	uint64_t one = 1;

	if (atomic_load(&agent.state) < AGENT_STARTING || gettid() != agent.pid)
		return;
	atomic_store(&agent.main_left, true);
	if (agent_fd_good(&agent.bell) && write(agent.bell.fd, &one, sizeof(one)) < 0)
		return;
}

/* A child that was forked before the agent started goes on waiting for it: the usual way of
 * daemons.  One of a program that has an agent has none. */
static void in_child(void)
{
	objects_after_fork();
	agent.pid = getpid();
	if (atomic_load(&agent.state) < AGENT_STARTING)
		return;
	serve_close_in_child();
	agent_fd_close(&agent.listener);
	agent_fd_close(&agent.bell);
	agent_fd_close(&agent.asking);
	agent.file_path[0] = agent.socket_path[0] = 0;
	jemalloc_reset();
	atomic_store(&agent.state, AGENT_OFF);
}

static void make_token(void)
{
	static const char digits[] = "0123456789abcdef";
	const char *given = getenv("MEMOIR_AGENT_TOKEN");
	unsigned char bytes[24];

	if (given && *given && strlen(given) < sizeof(agent.token)) {
		strcpy(agent.token, given);
		return;
	}
	if (getentropy(bytes, sizeof(bytes)))
		return; /* without a token no change is possible over a port */
	for (size_t i = 0; i < sizeof(bytes); i++) {
		agent.token[2 * i] = digits[bytes[i] >> 4];
		agent.token[2 * i + 1] = digits[bytes[i] & 15];
	}
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0");
}

__attribute__((constructor)) static void at_start(void)
{
	const char *listen = getenv("MEMOIR_AGENT_LISTEN"), *start = getenv("MEMOIR_AGENT_START");
	const char *hosts = getenv("MEMOIR_AGENT_ALLOW_HOST");

	waits_init();
	remember(&agent.standard_error, STDERR_FILENO);
	agent.quiet = is_set("MEMOIR_AGENT_QUIET");
	agent.compat = is_set("MEMOIR_AGENT_COMPAT");
	agent.open_to_all = is_set("MEMOIR_AGENT_OPEN_TO_ALL");
	if (hosts && strlen(hosts) < sizeof(agent.allowed_hosts))
		strcpy(agent.allowed_hosts, hosts);
	else if (hosts)
		agent_say("MEMOIR_AGENT_ALLOW_HOST is too long, and has no effect");
	if (!listen || !*listen)
		listen = DEFAULT_LISTEN;
	if (!strcmp(listen, "off"))
		return;
	if (strlen(listen) >= sizeof(agent.listen)) {
		agent_say("the agent cannot start: MEMOIR_AGENT_LISTEN is too long");
		return;
	}
	strcpy(agent.listen, listen);
	make_token();
	agent.pid = getpid();
	agent.started_ms = agent_now_ms();
	pthread_atfork(objects_before_fork, objects_after_fork, in_child);
	atomic_store(&agent.state, AGENT_PENDING);
	if (start && !strcmp(start, "now"))
		agent_trigger(false);
}

__attribute__((destructor)) static void at_end(void)
{
	if (agent.pid == getpid())
		listen_forget();
}
