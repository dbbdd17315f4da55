/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a new build of a program does worse, for programs that nobody builds here: preloaded, it
 * holds PLANTED_HOLD bytes as long as the program runs, and forgets PLANTED_LEAKS blocks. */
#include <stdlib.h>

static void *held;

__attribute__((noinline)) static void *hold_more(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

__attribute__((noinline)) static void forget_block(void)
{
	void *p = malloc(48);

	__asm__ volatile("" ::"r"(p) : "memory");
}

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin_worse(void)
{
	if (number("PLANTED_HOLD"))
		held = hold_more((size_t)number("PLANTED_HOLD"));
	for (long i = number("PLANTED_LEAKS"); i > 0; i--)
		forget_block();
}

__attribute__((destructor)) static void end_worse(void)
{
	free(held);
}
