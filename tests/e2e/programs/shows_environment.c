/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints its environment and ends with 5; with an argument it is a wrapper: it starts that program
 * and ends with 7, or by SIGUSR1 if the first argument is "-k".  Built for any libc. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	int status, at = argc > 1 && !strcmp(argv[1], "-k") ? 2 : 1;

	for (char **e = environ; *e; e++)
		puts(*e);
	fflush(stdout);
	free(malloc(100));
	if (argc <= at)
		return 5;
	if (!fork()) {
		execv(argv[at], argv + at);
		_exit(99);
	}
	wait(&status);
	if (at == 2)
		raise(SIGUSR1);
	return 7;
}
