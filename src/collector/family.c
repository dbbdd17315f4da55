/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings that belong together.  See family.h. */
#include "collector/family.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/log.h"
#include "recording/file_name.h"

static const char in_a_folder[] = "memory-profiling_%e_%t_%p.dat";
#define PATIENCE_MS 2000 /* with a launcher that does not read */

/* Makes a folder and those above it. */
static void make_folders(const char *path)
{
	char part[RECORDING_PATH_SIZE];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0700);
	}
}

static bool is_folder(const char *path)
{
	size_t n = strlen(path);
	struct stat st;

	return n && (path[n - 1] == '/' || (!stat(path, &st) && S_ISDIR(st.st_mode)));
}

bool family_pattern(const struct shm_control *control, pid_t target, char *out, size_t size)
{
	const struct shm_family *family = &control->family;
	const char *pattern = control->options.output;
	char folder[RECORDING_PATH_SIZE];
	size_t n;

	if (is_folder(pattern)) {
		n = strlen(pattern);
		snprintf(folder, sizeof(folder), "%s%s", pattern, pattern[n - 1] == '/' ? "" : "/");
		make_folders(folder);
		return (size_t)snprintf(out, size, "%s%s", folder, in_a_folder) < size;
	}
	/* A pattern that tells processes apart does so for everybody. */
	if (family->origin == ORIGIN_START || family->first_pid == target ||
	    file_name_has(pattern, 'p') || file_name_has(pattern, 'n'))
		return (size_t)snprintf(out, size, "%s", pattern) < size;
	n = file_name_stem(pattern);
	log_line(LOG_WARN, "the output has neither %%p nor %%n: this child's gets its pid added");
	return (size_t)snprintf(out, size, "%.*s.%%p%s", (int)n, pattern, pattern + n) < size;
}

int family_session(const struct shm_control *control)
{
	if (!control->family.session[0])
		return -1;
	return open(control->family.session, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static void report(int session, const char *line, int length)
{
	if (session < 0 || length <= 0 || length >= FAMILY_LINE)
		return;
	for (int waited = 0; waited < PATIENCE_MS; waited += 5) {
		if (write(session, line, (size_t)length) == length || errno != EAGAIN)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

void family_report_start(int session, pid_t target, const char *path)
{
	char line[FAMILY_LINE];

	report(session, line,
	       snprintf(line, sizeof(line), "S\t%d\t%d\t%s\n", (int)target, (int)getpid(), path));
}

void family_report_unrecorded(int session, const struct shm_control *control)
{
	char line[FAMILY_LINE];

	for (unsigned i = 0; i < SHM_UNRECORDED; i++) {
		const struct shm_unrecorded *u = &control->family.unrecorded[i];
		unsigned answer = atomic_load(&u->answer);

		if (answer)
			report(session, line,
			       snprintf(line, sizeof(line), "U\t%d\t%u\t%u\t%.*s\n", (int)u->pid,
					answer, (unsigned)u->machine, (int)sizeof(u->path) - 1,
					u->path));
	}
}

void family_report_end(int session, pid_t target, const struct recording *r, const char *reason,
		       const char *became)
{
	char line[FAMILY_LINE];

	report(session, line,
	       snprintf(line, sizeof(line), "E\t%d\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\n",
			(int)target, r->event_count, r->size, reason, r->path, became));
}
