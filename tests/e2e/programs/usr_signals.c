/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What SIGUSR1 does to a program in several situations, printed; see the test. */
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "say.h"

extern char **environ;
static volatile sig_atomic_t handled;

static void handler(int number)
{
	handled = number;
}

static void report(const char *what, int status)
{
	if (WIFSIGNALED(status))
		say("%s: signal %d\n", what, WTERMSIG(status));
	else
		say("%s: status %d\n", what, WEXITSTATUS(status));
}

static void of_child(const char *what, pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	report(what, status);
}

static void child(void)
{
	free(HIDE(malloc(10)));
	raise(SIGUSR1);
	_exit(0);
}

int main(int argc, char **argv)
{
	char *const arguments[] = { (char *)"sh", (char *)"-c", (char *)"kill -USR1 $$; exit 0",
				    NULL };
	struct sigaction action = { .sa_handler = handler }, old;
	const char *how = argc > 1 ? argv[1] : "";
	int ends[2];
	pid_t pid;

	if (!strcmp(how, "raise")) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		say("alive\n");
		return 0;
	}
	pid = fork();
	if (!pid)
		child();
	of_child("fork", pid);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		child();
	of_child("raw fork", pid);
	pid = vfork();
	if (!pid) {
		execv("/bin/sh", arguments);
		_exit(1);
	}
	of_child("vfork and exec", pid);
	posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ);
	of_child("posix_spawn", pid);

	/* A read that is interrupted goes on. */
	if (pipe(ends))
		return 1;
	pid = fork();
	if (!pid) {
		if (!strcmp(how, "handled"))
			kill(getppid(), SIGUSR1);
		usleep(50000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	say("read %d\n", (int)read(ends[0], ends, 1));
	of_child("writer", pid);

	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	say("own handler: %d\n", (int)handled);
	signal(SIGUSR1, SIG_DFL);
	raise(SIGUSR1);
	return 0;
}
