/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A timer whose handler allocates, while the program allocates: it interrupts the recorder
 * anywhere.  Runs with bumplib.so as the allocator, which allows that.  Prints its own counts as
 * JSON. */
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "say.h"

static _Atomic long allocations, frees;
static _Atomic long ticks;

static NOINLINE void in_handler(void)
{
	void *p = HIDE(malloc(777));

	allocations++;
	p = HIDE(realloc(p, 888));
	allocations++;
	free(p);
	frees++;
}

static void handler(int number)
{
	int saved = errno;

	in_handler();
	ticks++;
	errno = saved;
	KEEP(number);
}

static NOINLINE void dive(int depth)
{
	void *p = HIDE(malloc((size_t)depth + 1));

	allocations++;
	if (depth)
		dive(depth - 1);
	free(p);
	frees++;
	KEEP(p);
}

int main(void)
{
	struct itimerval timer = { { 0, 100 }, { 0, 100 } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (ticks < 3000)
		dive(20);
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	say("{\"allocations\": %ld, \"deallocations\": %ld, \"ticks\": %ld}\n", allocations, frees,
	    ticks);
	return 0;
}
