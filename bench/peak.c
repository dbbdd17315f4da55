/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peak FILE PROGRAM [ARGUMENT…]: runs a program and writes its peak resident set, in KiB, to FILE.
 *
 * A process inherits the peak of what it was before exec, so it must be started by something
 * small: not by the interpreter that runs the benchmark. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 1;
	file = fopen(argv[1], "w");
	if (!file || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 || fclose(file))
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
