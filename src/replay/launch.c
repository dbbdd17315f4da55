/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting the helper.  See launch.h. */
#include "replay/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/read_file.h"
#include "base/xalloc.h"

#define HELPER "memoir-replay"
#define PLAN_FD 3
#define RESULT_FD 4
/* tcmalloc writes a line for each block of a gigabyte; the recording's blocks are what they are. */
#define TCMALLOC_QUIET "TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD"

/* Beside this program, or where make install puts it. */
static char *find_helper(void)
{
	static const char *const folders[] = { "", "../libexec/memoir/" };
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return NULL;
	self[n] = 0;
	slash = strrchr(self, '/');
	slash[1] = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		auto_free char *candidate = xasprintf("%s%s" HELPER, self, folders[i]);

		if (!access(candidate, X_OK))
			return xstrdup(candidate);
	}
	return NULL;
}

struct environment {
	char **rows;
	size_t count, room;
};

static bool is_variable(const char *row, const char *name, size_t length)
{
	return !strncmp(row, name, length) && row[length] == '=';
}

/* Takes the place of what has the same name. */
static void environment_set(struct environment *e, char *row)
{
	size_t length = strcspn(row, "=");

	for (size_t i = 0; i < e->count; i++)
		if (is_variable(e->rows[i], row, length)) {
			free(e->rows[i]);
			e->rows[i] = row;
			return;
		}
	*xpush(e->rows, e->count, e->room) = row;
}

/* Ours, with the allocator preloaded instead of whatever is. */
static void environment_make(struct environment *e, const struct allocator *a)
{
	if (!getenv(TCMALLOC_QUIET))
		environment_set(e, xstrdup(TCMALLOC_QUIET "=1000000000000000"));
	for (char **p = environ; *p; p++)
		if (!is_variable(*p, "LD_PRELOAD", 10))
			environment_set(e, xstrdup(*p));
	for (size_t i = 0; i < a->setting_count; i++)
		environment_set(e, xstrdup(a->settings[i]));
	if (a->library)
		environment_set(e, xasprintf("LD_PRELOAD=%s", a->library));
	e->rows = xgrow(e->rows, e->count, &e->room, sizeof(*e->rows));
	e->rows[e->count] = NULL;
}

static void environment_release(struct environment *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->rows[i]);
	free(e->rows);
}

static int start_runner(const struct allocator *a, const char *helper, int plan_fd, int result_fd,
			enum plan_touch touch, enum plan_trim trim, pid_t *ret_pid)
{
	char plan_text[16], result_text[16], touch_text[16], trim_text[16];
	char *const argv[] = {
		(char *)HELPER, plan_text, result_text, touch_text, trim_text, NULL
	};
	auto_release(environment_release) struct environment e = { 0 };
	posix_spawn_file_actions_t actions;
	int error;

	snprintf(plan_text, sizeof(plan_text), "%d", PLAN_FD);
	snprintf(result_text, sizeof(result_text), "%d", RESULT_FD);
	snprintf(touch_text, sizeof(touch_text), "%d", touch);
	snprintf(trim_text, sizeof(trim_text), "%d", trim);
	environment_make(&e, a);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, result_fd, RESULT_FD);
	posix_spawn_file_actions_adddup2(&actions, plan_fd, PLAN_FD);
	error = posix_spawn(ret_pid, helper, &actions, NULL, argv, e.rows);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int take_result(int fd, struct plan_result *r)
{
	size_t have = 0;

	while (have < sizeof(*r)) {
		ssize_t n = read_some(fd, (char *)r + have, sizeof(*r) - have);

		if (n <= 0)
			return -EPIPE;
		have += (size_t)n;
	}
	r->library[sizeof(r->library) - 1] = 0;
	return r->magic == PLAN_MAGIC ? 0 : -EPIPE;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

static int judge(const struct allocator *a, const struct plan_result *r, struct err *err)
{
	const char *name = strrchr(r->library, '/');

	switch (r->failure) {
	case PLAN_DONE:
		break;
	case PLAN_NO_THREADS:
		return err_set(err, -EAGAIN, "cannot start as many threads: %s; try --one-thread",
			       strerror(r->error));
	case PLAN_NO_MAPPING:
		return err_set(err, -ENOMEM, "no memory for the replay's own tables");
	case PLAN_NO_TRIM:
		return err_set(err, -ENOTSUP,
			       "it has no way to give memory back that is known (malloc_trim, "
			       "mallctl, MallocExtension_ReleaseFreeMemory, mi_collect)");
	default:
		return err_set(err, -EINVAL, "the helper does not understand the plan");
	}
	if (a->library && !strncmp(name ? name + 1 : "", "libc.", 5))
		return err_set(err, -ENOEXEC, "%s was not loaded, or has no malloc", a->library);
	return 0;
}

int launch_replay(const struct allocator *a, int plan_fd, enum plan_touch touch,
		  enum plan_trim trim, struct plan_result *ret_result, struct err *err)
{
	auto_free char *helper = find_helper();
	int pipe_fds[2], error, status, plan_copy, result_copy;
	pid_t pid;

	if (!helper)
		return err_set(err, -ENOENT, HELPER " is not beside memoir, nor in libexec");
	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_set(err, -errno, "no pipe: %s", strerror(errno));
	/* Numbers that are not those that the helper is to see. */
	plan_copy = fcntl(plan_fd, F_DUPFD_CLOEXEC, RESULT_FD + 1);
	result_copy = fcntl(pipe_fds[1], F_DUPFD_CLOEXEC, RESULT_FD + 1);
	close(pipe_fds[1]);
	error = start_runner(a, helper, plan_copy, result_copy, touch, trim, &pid);
	close(plan_copy);
	close(result_copy);
	if (error) {
		close(pipe_fds[0]);
		return err_set(err, error, "%s: %s", helper, strerror(-error));
	}
	error = take_result(pipe_fds[0], ret_result);
	close(pipe_fds[0]);
	status = wait_for(pid);
	if (error && WIFSIGNALED(status))
		return err_set(err, -ECHILD, "the replay was ended by a signal: %s",
			       strsignal(WTERMSIG(status)));
	if (error)
		return err_set(err, -ECHILD, "the replay ended without an answer, with status %d",
			       WEXITSTATUS(status));
	return judge(a, ret_result, err);
}
