/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that brings its own malloc: its symbols come before any preloaded library's.  Its
 * calloc and realloc call its malloc, and count once. */
#include <stddef.h>

#include "say.h"

static char arena[1 << 20];
static size_t used;
static long calls;

void *malloc(size_t size)
{
	void *block = arena + used;

	used += (size + 15) & ~15ul;
	calls++;
	return used <= sizeof(arena) ? block : NULL;
}

void free(void *block)
{
	calls++;
	KEEP(block);
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);

	if (block && old)
		memcpy(block, old, size);
	return block;
}

int main(void)
{
	for (int i = 0; i < 100; i++)
		free(HIDE(malloc(64)));
	for (int i = 0; i < 10; i++) {
		KEEP(calloc(10, 10));
		KEEP(realloc(HIDE(malloc(50)), 60));
	}
	say("own allocator used: %d\n", calls >= 200);
	return 0;
}
