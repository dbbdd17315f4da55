/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocates 1000 blocks of 123 bytes in make(), frees every second one, and ends in the way that
 * its argument names. */
#include <pthread.h>
#include <signal.h>

#include "say.h"

static void *blocks[1000];

static NOINLINE void make(void)
{
	for (int i = 0; i < 1000; i++)
		blocks[i] = HIDE(malloc(123));
	for (int i = 0; i < 1000; i += 2)
		free(blocks[i]);
}

static void *end_process(void *argument)
{
	exit((int)(intptr_t)argument);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	make();
	if (!strcmp(how, "return"))
		return 20;
	if (!strcmp(how, "exit"))
		exit(21);
	if (!strcmp(how, "_exit"))
		_exit(22);
	if (!strcmp(how, "_Exit"))
		_Exit(23);
	if (!strcmp(how, "quick_exit"))
		quick_exit(24);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segfault"))
		*(volatile int *)HIDE((uintptr_t)8) = 1;
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "exec"))
		execl("/bin/sh", "sh", "-c", "exit 25", (char *)NULL);
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, end_process, (void *)26);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "pthread_exit"))
		pthread_exit(NULL);
	if (!strcmp(how, "trap"))
		__builtin_trap();
	return 99;
}
