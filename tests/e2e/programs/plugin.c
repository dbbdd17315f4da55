/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that is loaded and unloaded; NAME is its function, so that two builds of it can come
 * to lie at the same address and must not be mistaken for each other. */
#include <stdlib.h>

#ifndef NAME
#define NAME plugin_a
#endif

static __thread int calls;
static void *at_load;

__attribute__((constructor)) static void load(void)
{
	at_load = malloc(411);
}

__attribute__((destructor)) static void unload(void)
{
	free(at_load);
}

void *NAME(size_t size);
void *NAME(size_t size)
{
	void *block = malloc(size);

	calls++;
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}
