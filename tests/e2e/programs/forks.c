/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork in a program whose other threads are allocating; children allocate, free the parent's
 * blocks, start threads, and end in every way.  Then vfork with exec, posix_spawn and system. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "say.h"

extern char **environ;
static _Atomic int stop;

static void *churn(void *argument)
{
	while (!stop) {
		void *p = HIDE(malloc(100));

		p = HIDE(realloc(p, 1000));
		free(p);
	}
	return argument;
}

static void *short_thread(void *argument)
{
	free(HIDE(malloc(321)));
	return argument;
}

static int child(int kind, void *block)
{
	pthread_t thread;

	free(block);
	for (int i = 0; i < 1000; i++)
		free(HIDE(malloc((size_t)i)));
	switch (kind) {
	case 0:
		exit(10);
	case 1:
		_exit(11);
	case 2:
		abort();
	case 3:
		if (pthread_create(&thread, NULL, short_thread, NULL))
			_exit(99);
		pthread_join(thread, NULL);
		exit(13);
	case 4:
		execl("/bin/sh", "sh", "-c", "exit 14", (char *)NULL);
		_exit(99);
	default:
		if (fork() == 0) {
			free(HIDE(malloc(55)));
			_exit(0);
		}
		wait(NULL);
		exit(15);
	}
}

int main(void)
{
	char *const shell[] = { "sh", "-c", "exit 17", NULL };
	pthread_t threads[4];
	int status;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, churn, NULL))
			fail("pthread_create");
	for (int i = 0; i < 60; i++) {
		void *block = HIDE(malloc(500));

		pid = fork();
		if (pid == 0)
			child(i % 6, block);
		if (waitpid(pid, &status, 0) != pid)
			fail("waitpid");
		say("%d: exit %d signal %d\n", i % 6, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
		free(block);
	}
	for (int i = 0; i < 10; i++) {
		pid = vfork();
		if (pid == 0) {
			execl("/bin/sh", "sh", "-c", "exit 16", (char *)NULL);
			_exit(99);
		}
		waitpid(pid, &status, 0);
		say("vfork: %d\n", WEXITSTATUS(status));
		if (posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ))
			fail("posix_spawn");
		waitpid(pid, &status, 0);
		say("spawn: %d\n", WEXITSTATUS(status));
		status = system("exit 18");
		say("system: %d\n", WEXITSTATUS(status));
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	if (waitpid(-1, &status, 0) != -1 || errno != ECHILD)
		fail("a child that is not ours");
	say("done\n");
	return 0;
}
