/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations from lines that a test knows: sizes are those of jemalloc's classes, so that a dump
 * with everything in it (lg_prof_sample:0) has exactly these bytes. */
#include <stdlib.h>

void *volatile kept[4096];
static int count;

static inline __attribute__((always_inline)) void *inlined(void)
{
	return calloc(1, 3072); /* inlined */
}

__attribute__((noinline)) void *plain(int i)
{
	void *p = malloc(i % 2 ? 64 : 128); /* plain */

	kept[count++] = p;
	return p;
}

__attribute__((noinline)) void caller(int n)
{
	for (int i = 0; i < 100; i++)
		plain(i);	   /* calls plain */
	kept[count++] = inlined(); /* calls inlined */
	if (n)
		caller(n - 1); /* calls itself */
	kept[count++] = NULL;
}

int main(void)
{
	caller(2);
	return 0;
}
