/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocation where there is hardly any stack: threads with PTHREAD_STACK_MIN, down to the last
 * 3 KiB of it, and signal handlers on an alternate stack of the smallest size the kernel allows. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "say.h"

static volatile long handled;

/* Goes down until `left` bytes of the stack remain, then allocates. */
static NOINLINE void down(char *bottom, size_t left)
{
	char room[128];

	room[0] = 1;
	KEEP(&room);
	if ((size_t)(room - bottom) > left) {
		down(bottom, left);
	} else {
		void *p = HIDE(malloc(100));

		p = HIDE(realloc(p, 200));
		free(p);
		p = HIDE(calloc(3, 30));
		free(p);
	}
	KEEP(&room);
}

static void *run(void *argument)
{
	pthread_attr_t attributes;
	void *bottom;
	size_t size;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &bottom, &size);
	pthread_attr_destroy(&attributes);
	down(bottom, (size_t)argument);
	down(bottom, (size_t)argument);
	return argument;
}

static void handler(int number)
{
	for (int i = 0; i < 10; i++)
		free(HIDE(malloc(500)));
	handled++;
	KEEP(number);
}

int main(void)
{
	size_t smallest = getauxval(AT_MINSIGSTKSZ) + 3072;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_attr_t attributes;
	pthread_t thread;
	stack_t stack;
	char *map;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	for (int i = 0; i < 20; i++) {
		if (pthread_create(&thread, &attributes, run, (void *)(i % 2 ? 6144ul : 3072ul)))
			fail("pthread_create");
		pthread_join(thread, NULL);
	}
	say("threads done\n");

	/* Between two unreadable pages, its end against the upper one. */
	smallest = (smallest + 63) & ~63ul;
	map = mmap(NULL, 4096 * 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || mprotect(map + 4096, 4096 * 8, PROT_READ | PROT_WRITE))
		fail("mmap");
	stack.ss_sp = map + 4096 * 9 - smallest;
	stack.ss_size = smallest;
	stack.ss_flags = 0;
	if (sigaltstack(&stack, NULL))
		fail("sigaltstack");
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 1000; i++) {
		raise(SIGUSR1);
		free(HIDE(malloc(40)));
	}
	say("handled %ld\n", handled);
	return 0;
}
