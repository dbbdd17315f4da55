/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir-collector --shm-fd N --target PID: started by the recorder inside the program, as nobody's
 * child.  It has nobody to talk to: what goes wrong is told through the shared memory. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/read_file.h"
#include "collector/collector.h"
#include "collector/daemonize.h"
#include "collector/futex.h"
#include "collector/inherit.h"
#include "collector/log.h"
#include "stream/serve.h"

static bool parse_arguments(int argc, char **argv, int *ret_fd, int *ret_target)
{
	*ret_fd = *ret_target = -1;
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--shm-fd"))
			*ret_fd = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--target"))
			*ret_target = atoi(argv[i + 1]);
		else
			return false;
	}
	return *ret_fd >= 0 && *ret_target > 0;
}

/* Without pidfds.  A program whose first thread has left is shown as a zombie while others live. */
static bool gone_by_number(pid_t pid)
{
	char path[40], text[512], *p;
	unsigned threads = 0;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_short_file(path, text, sizeof(text)) == -ENOENT)
		return true;
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1,
			 " Z %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
			 " %*u %*u %*d %*d %*d %*d %u",
			 &threads) != 1)
		return false;
	return threads <= 1;
}

/* A namespace of processes may have its parent's /proc, where everybody has another number.  What
 * is known of a pidfd is written there with that one. */
static pid_t number_in_proc(int pidfd)
{
	char path[40], line[128];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	f = pidfd < 0 ? NULL : fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid > 0 ? pid : 0;
}

static bool target_gone(struct collector *c)
{
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

	if (c->pidfd < 0)
		return gone_by_number(c->target);
	return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

/* Rings the bell when the program ends, so that the loop may sleep long and still finish at once.
 * Where there is no thread to be had, the loop finds out by itself a little later. */
static void *wait_for_exit(void *argument)
{
	struct collector *c = argument;
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	atomic_fetch_add(&c->control->doorbell, 1);
	futex_wake(&c->control->doorbell);
	return NULL;
}

static void start_waiting_for_exit(struct collector *c)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (c->pidfd < 0 || pthread_attr_init(&attributes))
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_create(&thread, &attributes, wait_for_exit, c);
	pthread_attr_destroy(&attributes);
}

/* linux/pidfd.h of Linux 6.15, of which nothing older knows. */
struct pidfd_exit {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define PIDFD_GET_EXIT _IOWR(0xff, 11, struct pidfd_exit)
#define PIDFD_MASK_EXIT 8u
#define TRIES 10
#define TRIES_SESSION 250 /* a launcher may be busy with its own recording first */

/* How the program ended, as waitpid has it; -1 if that cannot be known.  The kernel tells once the
 * program's parent has waited for it, which it usually does at once. */
static int exit_status(int pidfd, int tries)
{
	for (int i = 0; i < tries; i++) {
		struct pidfd_exit info = { .mask = PIDFD_MASK_EXIT };

		if (ioctl(pidfd, PIDFD_GET_EXIT, &info) < 0)
			return -1;
		if (info.mask & PIDFD_MASK_EXIT)
			return info.exit_code;
		usleep(2000);
	}
	return -1;
}
_Static_assert(sizeof(struct pidfd_exit) == 64, "its first version");

static const char *program_name(pid_t target, char *buffer, size_t size)
{
	char link[40], *slash;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)target);
	n = readlink(link, buffer, size - 1);
	if (n <= 0)
		return "unknown";
	buffer[n] = 0;
	slash = strrchr(buffer, '/');
	return slash ? slash + 1 : buffer;
}

int main(int argc, char **argv)
{
	static struct collector c;
	char buffer[PATH_MAX];
	const char *program, *reason;
	int fd, target, error, status = -1;
	bool ok;

	if (!parse_arguments(argc, argv, &fd, &target)) {
		dprintf(STDERR_FILENO, "memoir-collector: it is started by libmemoir.so; "
				       "to record a program, use: memoir run PROGRAM\n");
		return 2;
	}
	daemonize(&fd);
	error = collector_init(&c, fd);
	if (error) {
		char text[100];

		snprintf(text, sizeof(text), "shared memory: %s%s",
			 error == -EPROTO
				 ? "memoir-collector is of another version than libmemoir.so"
				 : strerror(-error),
			 error == -EFBIG ? " (ulimit -f)" : "");
		collector_fail(&c, text);
		return 1;
	}
	c.pidfd = (int)syscall(SYS_pidfd_open, target, 0);
	c.in_proc = number_in_proc(c.pidfd);
	c.target_gone = target_gone;
	/* Relative names start where the first of the family was started. */
	if (c.control->family.directory[0] && chdir(c.control->family.directory))
		c.control->family.directory[0] = 0;
	program = program_name(c.in_proc ? c.in_proc : target, buffer, sizeof(buffer));
	log_start(&c.control->options, target, program, -1);
	log_to_program(c.pidfd, c.in_proc ? c.in_proc : target, c.control);
	log_options(&c.control->options);
	if (collector_open(&c, target, program))
		return 1;
	daemonize_leave_directory();
	start_waiting_for_exit(&c);
	if (c.control->family.origin == ORIGIN_FORK)
		inherit_blocks(&c);
	atomic_store(&c.control->family.inheriting, 0);
	reason = collector_run(&c);
	if (!strcmp(reason, "end"))
		status = exit_status(c.pidfd, c.session >= 0 ? TRIES_SESSION : TRIES);
	if (status == -1 && atomic_load(&c.control->ending))
		status = atomic_load(&c.control->exit_status);
	if (status != -1)
		reason = WIFSIGNALED(status) ? "signal" : "exit";
	ok = collector_finish(&c, reason, status);
	if (c.serve) {
		serve_wait(c.serve, UINT64_MAX);
		log_line(LOG_INFO, "clients that got everything: %u", serve_served(c.serve));
	}
	return ok ? 0 : 1; /* the watching thread may still look at the shared memory */
}
