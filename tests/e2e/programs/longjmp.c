/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* setjmp and longjmp across recorded frames, also out of a signal handler, with allocations at
 * every depth before and after the jump. */
#include <setjmp.h>
#include <signal.h>

#include "say.h"

static jmp_buf home;
static sigjmp_buf signal_home;
static void *kept[64];

static NOINLINE void dive(int depth, int stop)
{
	kept[depth] = HIDE(malloc((size_t)depth * 10 + 1));
	if (depth == stop)
		longjmp(home, depth + 1);
	dive(depth + 1, stop);
	KEEP(depth);
}

static void handler(int number)
{
	void *p = HIDE(malloc(77));

	free(p);
	siglongjmp(signal_home, number);
}

static NOINLINE void raiser(int depth)
{
	void *p = HIDE(malloc(50));

	free(p);
	if (depth == 0)
		raise(SIGUSR1);
	raiser(depth - 1);
	KEEP(depth);
}

int main(void)
{
	volatile long sum = 0;

	for (volatile int round = 0; round < 500; round++) {
		int value = setjmp(home);

		if (value == 0)
			dive(0, round % 50);
		sum += value;
		for (int i = 0; i < value; i++)
			free(kept[i]);
		kept[0] = HIDE(malloc(33));
		free(kept[0]);
	}
	say("sum %ld\n", sum);

	signal(SIGUSR1, handler);
	for (volatile int round = 0; round < 200; round++) {
		int value = sigsetjmp(signal_home, 1);

		if (value == 0)
			raiser(round % 30);
		sum += value;
	}
	say("sum %ld\n", sum);
	return 0;
}
