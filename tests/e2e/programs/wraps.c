/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A malloc of the program's own that counts, and asks for the next one: that is the recorder's. */
#include <dlfcn.h>

#include "say.h"

static long calls;

NOINLINE void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	calls++;
	return next(size);
}

NOINLINE void free(void *block)
{
	static void (*next)(void *);

	if (!next)
		next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next(block);
}

static NOINLINE void work(void)
{
	for (int i = 0; i < 100; i++)
		free(HIDE(malloc(100)));
	free(HIDE(calloc(10, 10))); /* libc's */
	KEEP(calls);
}

int main(void)
{
	work();
	say("%d\n", calls >= 100);
	return 0;
}
