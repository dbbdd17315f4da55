/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in known shapes: a small call tree, recursion, a rise and a fall, and a heap that is full
 * of holes.  `shapes more` keeps twice as much of one kind, and something new. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 4000
#define REGION 65536

static void *kept[64];
static unsigned kept_count;

__attribute__((noinline)) void *keep_small(void)
{
	return kept[kept_count++] = malloc(1000);
}

__attribute__((noinline)) void *keep_large(void)
{
	return kept[kept_count++] = malloc(20000);
}

__attribute__((noinline)) void *keep_new(void)
{
	return kept[kept_count++] = malloc(7777);
}

__attribute__((noinline)) void recurse(unsigned depth)
{
	if (depth)
		recurse(depth - 1);
	else
		kept[kept_count++] = malloc(300);
	__asm__ volatile("");
}

__attribute__((noinline)) void work(int more)
{
	for (int i = 0; i < (more ? 20 : 10); i++)
		keep_small();
	for (int i = 0; i < 5; i++)
		keep_large();
	if (more)
		keep_new();
	recurse(7);
}

__attribute__((noinline)) void rise_and_fall(void)
{
	void *p = malloc(3000000);

	memset(p, 1, 4096);
	usleep(20000);
	free(p);
}

__attribute__((noinline)) char *hole(void)
{
	return malloc(1000);
}

/* Of about 4 MB one block in each 64 KiB is kept: the first that lies in it. */
__attribute__((noinline)) void pin(void)
{
	static char *blocks[BLOCKS];
	unsigned long last = 0;

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = hole();
	for (int i = 0; i < BLOCKS; i++) {
		unsigned long region = (unsigned long)blocks[i] / REGION;

		if (region == last)
			free(blocks[i]);
		last = region;
	}
}

int main(int argc, char **argv)
{
	work(argc > 1);
	rise_and_fall();
	pin();
	usleep(20000);
	return 0;
}
