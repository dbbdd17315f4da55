/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The collector's log.  See log.h.  A process is one collector, so this is the one place with
 * state outside struct collector.  One thread. */
#include "collector/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/harmless.h"
#include "base/open_output.h"
#include "recording/file_name.h"

static int log_fd = -1;
static enum log_level log_limit;
static struct {
	char path[PATH_MAX]; /* absolute: the working directory will be left */
	uint64_t size, limit;
	bool rotated;
} file;

/* Whose stderr is to be used. */
static struct {
	int pidfd;
	pid_t in_proc;
	bool used;
	const struct shm_control *control;
} owner = { .pidfd = -1 };

static bool open_file(void)
{
	int fd = open_output(file.path, O_WRONLY | O_APPEND | O_CREAT, 0600, OPEN_OUTPUT_SOON_MS);
	struct stat st;

	if (fd < 0) {
		errno = -fd;
		return false;
	}
	file.size = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
	log_fd = fd;
	return true;
}

/* The beginning of a log is worth keeping: it becomes .initial, every later part .old in turn. */
static void rotate(void)
{
	char name[PATH_MAX + 16];
	int before = log_fd;

	snprintf(name, sizeof(name), "%s%s", file.path, file.rotated ? ".old" : ".initial");
	file.rotated = true;
	file.size = 0;
	if (rename(file.path, name) < 0 || !open_file())
		return;
	close(before);
}

void log_to_program(int pidfd, pid_t in_proc, const struct shm_control *control)
{
	owner.pidfd = pidfd;
	owner.in_proc = in_proc;
	owner.control = control;
	owner.used = control->stderr_inode && log_fd < 0;
}

static bool is_what_it_was(int fd)
{
	const struct shm_control *then = owner.control;
	struct stat now;

	return !fstat(fd, &now) && now.st_dev == then->stderr_device &&
	       now.st_ino == then->stderr_inode && now.st_rdev == then->stderr_special;
}

/* The program's own descriptor where that is allowed, else the file anew: behind what is there. */
static int fetch_stderr(void)
{
	struct pollfd p = { .fd = -1, .events = POLLOUT };
	char path[40];

	if (owner.pidfd >= 0)
		p.fd = (int)syscall(SYS_pidfd_getfd, owner.pidfd, STDERR_FILENO, 0);
	if (p.fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)owner.in_proc);
		p.fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	if (p.fd < 0)
		return -1;
	if (is_what_it_was(p.fd) && poll(&p, 1, 0) == 1 && p.revents & POLLOUT)
		return p.fd;
	close(p.fd);
	return -1;
}

bool log_is_on(enum log_level level)
{
	return level <= log_limit && (log_fd >= 0 || owner.used);
}

void log_options(const struct options *options)
{
	static struct options usual;

	if (!log_is_on(LOG_DEBUG))
		return;
	options_init(&usual);
	for (unsigned i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const char *at = (const char *)options + row->offset;
		const char *is = (const char *)&usual + row->offset;

		if (row->type == OPTION_STRING || row->type == OPTION_ADDRESS) {
			if (strcmp(at, is))
				log_line(LOG_DEBUG, "option %s: %s", row->flag, at);
		} else if (row->type == OPTION_BOOL) {
			if (*(const bool *)at != *(const bool *)is)
				log_line(LOG_DEBUG, "option %s: %d", row->flag, *(const bool *)at);
		} else if (row->type == OPTION_UINT || row->type == OPTION_USER) {
			if (*(const uint64_t *)at != *(const uint64_t *)is)
				log_line(LOG_DEBUG, "option %s: %" PRIu64, row->flag,
					 *(const uint64_t *)at);
		} else if (*(const uint32_t *)at != *(const uint32_t *)is) {
			log_line(LOG_DEBUG, "option %s: choice %" PRIu32, row->flag,
				 *(const uint32_t *)at);
		}
	}
}

void log_start(const struct options *options, pid_t pid, const char *program, int fallback_fd)
{
	size_t n = 0;

	log_fd = fallback_fd;
	log_limit = options->log;
	file.limit = 0;
	if (log_limit == LOG_OFF || !options->logfile[0])
		return;
	if (options->logfile[0] != '/' && getcwd(file.path, sizeof(file.path) - 1)) {
		n = strlen(file.path);
		file.path[n++] = '/';
	}
	if (!file_name_expand(file.path + n, sizeof(file.path) - n, options->logfile, pid, program,
			      0))
		return;
	if (open_file())
		file.limit = options->logfile_rotate;
	else
		log_line(LOG_ERROR, "cannot write the log %s: %s", file.path,
			 open_output_error(errno));
}

void log_line(enum log_level level, const char *format, ...)
{
	static const char *const names[] = { "", "error", "warn", "info", "debug", "trace" };
	char line[1024];
	va_list args;
	int n, fd = log_fd;

	if (!log_is_on(level) || (fd < 0 && (fd = fetch_stderr()) < 0))
		return;
	n = snprintf(line, sizeof(line), "memoir: collector %d %s: ", (int)getpid(), names[level]);
	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	for (char *p = line, *end = line + n; p < end;) {
		bool control;
		size_t size = harmless_next(p, (size_t)(end - p), &control);

		if (control)
			memset(p, '?', size);
		p += size;
	}
	line[n++] = '\n';
	while (write(fd, line, (size_t)n) < 0 && errno == EINTR)
		;
	if (fd != log_fd)
		close(fd);
	file.size += (uint64_t)n;
	if (file.limit && file.size > file.limit)
		rotate();
}
