/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who waits for children, as inits and supervisors do.
 *
 * reaper all            three children that allocate; waits until there are none, counts
 * reaper subreaper      the same as a subreaper, which it becomes after it has allocated
 * reaper walls          the same with __WALL, without blocking
 * reaper last PROGRAM…  runs the program, waits until there are none, ends as the last one reaped
 * reaper exec PROGRAM…  allocates and becomes the program
 * reaper refused        tries to become a program that is not there, and goes on
 *
 * Each child, and the parent before it makes them, allocates 1000 blocks in make(). */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "say.h"

static NOINLINE void make(void)
{
	for (int i = 0; i < 1000; i++)
		free(HIDE(malloc(123)));
}

static int reap_all(int flags)
{
	int n = 0, status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, flags);

		if (pid > 0)
			n++;
		else if (!pid)
			usleep(1000);
		else if (errno != EINTR)
			return n;
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "all";
	int status, last = 0;

	if (strcmp(how, "last"))
		make();
	if (!strcmp(how, "exec")) {
		execv(argv[2], argv + 2);
		return 126;
	}
	if (!strcmp(how, "refused")) {
		execl("/nonexistent/program", "program", (char *)NULL);
		make();
		return 0;
	}
	if (!strcmp(how, "last")) {
		if (!fork()) {
			execv(argv[2], argv + 2);
			_exit(126);
		}
		while (wait(&status) > 0)
			last = status;
		return WIFEXITED(last) ? WEXITSTATUS(last) : 128 + WTERMSIG(last);
	}
	if (!strcmp(how, "subreaper"))
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			make();
			exit(0);
		}
	printf("reaped %d\n", reap_all(strcmp(how, "walls") ? 0 : __WALL | WNOHANG));
	return 0;
}
