/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet push in a process of its own.  See push_after.h. */
#include "cli/fleet/push_after.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* This program itself, or of another one (memoir-gather) the memoir that is beside it. */
static void find_memoir(char ret_path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
	char *name;

	ret_path[n > 0 ? n : 0] = 0;
	name = strrchr(ret_path, '/');
	if (name && strcmp(name, "/memoir") != 0)
		strcpy(name, "/memoir");
}

static void become_push(const char *url, const char *path, bool quiet)
{
	static const int changed[] = { SIGINT,	SIGQUIT, SIGPIPE, SIGXFSZ,
				       SIGTSTP, SIGTERM, SIGHUP,  SIGCHLD };
	char program[PATH_MAX];
	const char *words[9] = { "memoir", "fleet", "push" };
	size_t n = 3;
	sigset_t none;

	if (url) {
		words[n++] = "--fleet";
		words[n++] = url;
	}
	if (quiet)
		words[n++] = "--quiet";
	words[n++] = "--";
	words[n++] = path;
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
		signal(changed[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	find_memoir(program);
	execv(program, (char **)words);
	execvp("memoir", (char **)words);
	fprintf(stderr, "memoir: cannot start memoir fleet push: %s\n", strerror(errno));
	_exit(127);
}

int push_after(const char *url, const char *path, bool quiet, bool wait)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		/* Nobody waits for a grandchild. */
		if (!wait && fork())
			_exit(0);
		become_push(url, path, quiet);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
