/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A server of the old school: its children write what they do over their arguments.
 *
 * titles ARGUMENT-LONG-ENOUGH [daemon|silent FILE]: one worker ends soon, one changes its title and
 * ends, one is killed; each holds blocks of its own.  With daemon the first process ends and leaves
 * one that runs until FILE is there; with silent likewise, and that one never allocates. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "say.h"

static char *title;
static size_t room;

static void set_title(const char *text)
{
	memset(title, 0, room);
	strncpy(title, text, room - 1);
}

NOINLINE void *keep(size_t n)
{
	return HIDE(malloc(n));
}

NOINLINE void *serve(size_t n)
{
	return keep(n);
}

static pid_t worker(const char *text, const char *later, size_t n, int lasting)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	set_title(text);
	serve(n);
	if (later)
		set_title(later);
	while (lasting)
		pause();
	usleep(200000); /* so that its collector, which reads what it inherited first, has looked */
	exit(0);
}

int main(int argc, char **argv)
{
	pid_t pids[3];

	title = argv[0];
	room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
	serve(1000);
	if (argc > 3) {
		char *file = strdup(argv[3]);

		if (!fork()) {
			if (!strcmp(argv[2], "daemon"))
				serve(5000);
			set_title("titles: daemon");
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			while (access(file, F_OK))
				usleep(20000);
			exit(0);
		}
		usleep(300000); /* so that its collector has looked */
		return 0;
	}
	pids[0] = worker("titles: quick", NULL, 10000, 0);
	pids[1] = worker("titles: starting", "titles: idle", 20000, 0);
	pids[2] = worker("titles: endless", NULL, 30000, 1);
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);
	usleep(400000);
	kill(pids[2], SIGKILL);
	waitpid(pids[2], NULL, 0);
	return 0;
}
