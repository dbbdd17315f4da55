/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Children that share the parent's memory and allocate in it: between vfork and exec, and in a
 * process made by clone with CLONE_VM; and handlers of pthread_atfork that allocate. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "say.h"

static int prepared, in_parent;

static void prepare(void)
{
	free(HIDE(malloc(701)));
	prepared++;
}

static void parent(void)
{
	free(HIDE(malloc(702)));
	in_parent++;
}

static void child(void)
{
	free(HIDE(malloc(703)));
}

static NOINLINE void allocate(void)
{
	for (int i = 0; i < 100; i++) {
		void *p = HIDE(malloc((size_t)i * 10 + 1));

		p = HIDE(realloc(p, (size_t)i * 20 + 1));
		free(p);
	}
}

static int cloned(void *argument)
{
	allocate();
	_exit((int)(intptr_t)argument);
}

int main(void)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	if (stack == MAP_FAILED)
		fail("mmap");
	for (int i = 0; i < 20; i++) {
		allocate();
		pid = vfork();
		if (pid == 0) {
			allocate();
			execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
			_exit(99);
		}
		waitpid(pid, &status, 0);
		say("vfork %d\n", WEXITSTATUS(status));
		pid = vfork();
		if (pid == 0) {
			allocate();
			execl("/nonexistent", "x", (char *)NULL);
			allocate();
			_exit(6);
		}
		waitpid(pid, &status, 0);
		say("vfork without exec %d\n", WEXITSTATUS(status));
		pid = clone(cloned, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)7);
		waitpid(pid, &status, 0);
		say("clone %d\n", WEXITSTATUS(status));
	}
	pthread_atfork(prepare, parent, child);
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (pid == 0)
			_exit(8);
		waitpid(pid, &status, 0);
		say("fork %d\n", WEXITSTATUS(status));
	}
	say("prepared %d, parent %d\n", prepared, in_parent);
	return 0;
}
