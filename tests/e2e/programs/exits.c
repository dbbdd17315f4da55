/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocates 1000 blocks of 123 bytes in make(), frees every second one, and ends in the way that
 * its argument names. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "say.h"

static void *blocks[1000];

static NOINLINE void make(void)
{
	for (int i = 0; i < 1000; i++)
		blocks[i] = HIDE(malloc(123));
	for (int i = 0; i < 1000; i += 2)
		free(blocks[i]);
}

static void end_in_handler(int number)
{
	_exit(27);
}

/* New stacks all the time: the slow paths too. */
static NOINLINE void descend(unsigned depth)
{
	free(HIDE(malloc(77)));
	if (depth)
		descend(depth - 1);
	KEEP(depth);
}

static void *allocate_on(void *unused)
{
	for (unsigned i = 0;; i++)
		descend(i % 100);
	return NULL;
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
	if (!strcmp(how, "handler")) { /* in the middle of a hook, most likely */
		struct itimerval soon = { .it_value.tv_usec = 20000 };

		signal(SIGALRM, end_in_handler);
		setitimer(ITIMER_REAL, &soon, NULL);
		allocate_on(NULL);
	}
	if (!strcmp(how, "busy")) { /* other threads are in the middle of hooks, and go on */
		for (int i = 0; i < 4; i++)
			pthread_create(&thread, NULL, allocate_on, NULL);
		usleep(20000);
		exit(28);
	}
	if (!strcmp(how, "trap"))
		__builtin_trap();
	return 99;
}
