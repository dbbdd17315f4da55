/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints its environment and ends with 5; with an argument it is a wrapper: it starts that program
 * and ends with 7, or by SIGUSR1 if the first argument is "-k"; with "-r" it starts it by the
 * system call and ends like it.  Built for any libc. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	int status, at = argc > 1 && argv[1][0] == '-' ? 2 : 1;
	char how = at == 2 ? argv[1][1] : 0;

	for (char **e = environ; *e; e++)
		puts(*e);
	fflush(stdout);
	free(malloc(100));
	if (argc <= at)
		return 5;
	if (!fork()) {
		if (how == 'r')
			syscall(SYS_execve, argv[at], argv + at, environ);
		execv(argv[at], argv + at);
		_exit(99);
	}
	wait(&status);
	if (how == 'k')
		raise(SIGUSR1);
	return how == 'r' ? WEXITSTATUS(status) : 7;
}
