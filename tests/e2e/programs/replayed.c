/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls for memoir replay to repeat: `replayed WHAT`.
 *
 *   large   64 MiB that nobody writes to
 *   odd     one block of 4,242 bytes, allocated and freed
 *   huge    eight blocks of half the machine's memory each, all alive
 *   phases  thread after thread has 8 MiB for itself, in small blocks */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PHASES 8
#define BLOCKS 8192

static void *phase(void *unused)
{
	static void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(1024);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static void phases(void)
{
	for (int i = 0; i < PHASES; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, phase, NULL);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	size_t half = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 2;

	if (!strcmp(argv[1], "large"))
		return !malloc(64 << 20);
	if (!strcmp(argv[1], "odd"))
		free(malloc(4242));
	if (!strcmp(argv[1], "phases"))
		phases();
	for (int i = 0; i < 8 && !strcmp(argv[1], "huge"); i++)
		if (!malloc(half))
			return 1;
	return 0;
}
