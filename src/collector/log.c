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

void log_start(const struct options *options, pid_t pid, const char *program, int fallback_fd)
{
	char path[PATH_MAX];

	log_fd = fallback_fd;
	log_limit = options->log;
	if (log_limit == LOG_OFF || !options->logfile[0] ||
	    !pattern_expand(path, sizeof(path), options->logfile, pid, program, 0))
		return;

	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd >= 0)
		log_fd = fd;
	else
		log_line(LOG_ERROR, "cannot write the log %s: %s", path, strerror(errno));
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
}
