/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The collector's log.  See log.h.  A process is one collector, so this is the one place with
 * state outside struct collector. */
#include "collector/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/pattern.h"

static int log_fd = -1;
static enum log_level log_limit;
static struct {
	char path[PATH_MAX]; /* absolute: the working directory will be left */
	uint64_t size, limit;
	bool rotated;
} file;

static bool open_file(void)
{
	int fd = open(file.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0)
		return false;
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
	if (!pattern_expand(file.path + n, sizeof(file.path) - n, options->logfile, pid, program,
			    0))
		return;
	if (open_file())
		file.limit = options->logfile_rotate;
	else
		log_line(LOG_ERROR, "cannot write the log %s: %s", file.path, strerror(errno));
}

void log_line(enum log_level level, const char *format, ...)
{
	static const char *const names[] = { "", "error", "warn", "info", "debug", "trace" };
	char line[1024];
	va_list args;
	int n;

	if (level > log_limit || log_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "memoir: collector %d %s: ", (int)getpid(), names[level]);
	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	while (write(log_fd, line, (size_t)n) < 0 && errno == EINTR)
		;
	file.size += (uint64_t)n;
	if (file.limit && file.size > file.limit)
		rotate();
}
