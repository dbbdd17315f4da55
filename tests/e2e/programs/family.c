/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processes that come from each other, in many ways; each allocates blocks of sizes of its own.
 *
 * family MODE [ARGUMENTS]; what a mode does is said at its function. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "say.h"

extern char **environ;

NOINLINE void *in_parent(size_t n)
{
	return HIDE(malloc(n));
}

NOINLINE void *in_child(size_t n)
{
	return HIDE(malloc(n));
}

NOINLINE void *in_grandchild(size_t n)
{
	return HIDE(malloc(n));
}

static void *thread(void *argument)
{
	in_parent((size_t)(intptr_t)argument);
	return NULL;
}

static void run_thread(size_t n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, (void *)(intptr_t)n))
		fail("pthread_create");
	pthread_join(t, NULL);
}

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

/* The parent and a thread allocate, then the child and a thread of the child do. */
static int plain_fork(void)
{
	in_parent(10001);
	run_thread(20001);
	if (!fork()) {
		in_child(10011);
		run_thread(20011);
		_exit(0);
	}
	in_parent(10002);
	run_thread(20002);
	wait_all();
	in_parent(10003);
	return 0;
}

/* Ten blocks; the child frees the first five, its child the next two.  Parents free one of their
 * own right after the fork. */
static int three_deep(void)
{
	void *p[10];

	for (size_t i = 0; i < 10; i++)
		p[i] = in_parent(1000 + i);
	if (!fork()) {
		for (int i = 0; i < 5; i++)
			free(p[i]);
		p[0] = in_child(5000);
		if (!fork()) {
			free(p[0]);
			free(p[5]);
			free(p[6]);
			in_grandchild(6000);
			_exit(0);
		}
		free(p[9]);
		wait_all();
		_exit(0);
	}
	free(p[0]);
	free(p[1]);
	wait_all();
	return 0;
}

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

/* Other threads allocate all the time; each child frees one block of its parent's. */
static int threaded(void)
{
	pthread_t threads[3];
	void *p[8];

	for (size_t i = 0; i < 8; i++)
		p[i] = in_parent(3000 + i);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, churn, NULL))
			fail("pthread_create");
	for (int i = 0; i < 8; i++) {
		usleep(2000);
		if (!fork()) {
			free(p[i]);
			in_child(4000);
			run_thread(4001);
			exit(0);
		}
		wait_all();
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* A child that libc knows nothing of. */
static int raw_clone(void)
{
	void *p = in_parent(7000);
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		free(p);
		in_child(7001);
		syscall(SYS_exit_group, 0);
	}
	free(p);
	wait_all();
	return 0;
}

static int cloned(void *argument)
{
	in_child(8001);
	free(in_child(8002));
	_exit(0);
}

/* Children that share the memory: all that they do is the parent's. */
static int shared_memory(const char *self)
{
	char *const arguments[] = { (char *)self, "leaf", NULL };
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	in_parent(8000);
	for (int i = 0; i < 3; i++) {
		if (!vfork()) {
			in_child(8003);
			execv(self, arguments);
			_exit(9);
		}
		wait_all();
		if (!vfork()) {
			execv("/proc/self/nothing", arguments);
			in_child(8004);
			_exit(9);
		}
		wait_all();
		clone(cloned, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		wait_all();
		if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) ||
		    posix_spawnp(&pid, self, NULL, NULL, arguments, environ))
			fail("posix_spawn");
		wait_all();
		if (posix_spawn(&pid, "/proc/self/nothing", NULL, NULL, arguments, environ) !=
		    ENOENT)
			fail("posix_spawn of nothing");
	}
	in_parent(8009);
	return 0;
}

/* A daemon: forks twice, leaves its folder, closes everything. */
static int daemon_of(const char *done)
{
	void *p = in_parent(9000);
	int fd;

	if (!fork()) {
		setsid();
		if (!fork()) {
			if (chdir("/"))
				_exit(1);
			for (fd = 0; fd < 64; fd++)
				close(fd);
			usleep(50000);
			free(p);
			in_grandchild(9001);
			fd = open(done, O_CREAT | O_WRONLY, 0600);
			_exit(write(fd, "done\n", 5) == 5 ? 0 : 1);
		}
		_exit(0);
	}
	wait_all();
	return 0;
}

/* Executes what is left on the command line by way of the named function. */
static int execute(const char *how, char **argv)
{
	char *only[] = { "ONLY=1", NULL };
	int fd;

	in_parent(11000);
	errno = 0;
	if (execl("/proc/self/nothing", "x", (char *)NULL) != -1 || errno != ENOENT)
		fail("execl of nothing: %d", errno);
	in_parent(11001);
	if (!strcmp(how, "execve"))
		execve(argv[0], argv, environ);
	else if (!strcmp(how, "execv"))
		execv(argv[0], argv);
	else if (!strcmp(how, "execvp"))
		execvp(argv[0], argv);
	else if (!strcmp(how, "execvpe"))
		execvpe(argv[0], argv, only);
	else if (!strcmp(how, "execl"))
		execl(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
	else if (!strcmp(how, "execlp"))
		execlp(argv[0], argv[0], argv[1], argv[2], (char *)NULL);
	else if (!strcmp(how, "execle"))
		execle(argv[0], argv[0], argv[1], argv[2], (char *)NULL, only);
	else if (!strcmp(how, "empty"))
		execve(argv[0], argv, only + 1);
	else if (!strcmp(how, "fexecve") && (fd = open(argv[0], O_RDONLY | O_CLOEXEC)) >= 0)
		fexecve(fd, argv, environ);
	else if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, argv[0], argv, environ, 0);
	fail("%s: %d", how, errno);
	return 99;
}

/* Starts what is left on the command line, and waits. */
static int spawn_child(char **argv)
{
	in_parent(10001);
	if (!fork()) {
		execv(argv[0], argv);
		_exit(99);
	}
	wait_all();
	in_parent(10003);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "fork"))
		return plain_fork();
	if (!strcmp(mode, "three-deep"))
		return three_deep();
	if (!strcmp(mode, "threaded"))
		return threaded();
	if (!strcmp(mode, "raw-clone"))
		return raw_clone();
	if (!strcmp(mode, "shared-memory"))
		return shared_memory(argv[0]);
	if (!strcmp(mode, "daemon"))
		return daemon_of(argv[2]);
	if (!strcmp(mode, "exec"))
		return execute(argv[2], argv + 3);
	if (!strcmp(mode, "spawn"))
		return spawn_child(argv + 2);
	if (!strcmp(mode, "leaf")) {
		in_parent(12000);
		return 12;
	}
	if (!strcmp(mode, "environment")) {
		for (char **e = environ; *e; e++)
			say("%s\n", *e);
		return 0;
	}
	fail("which mode?");
	return 99;
}
