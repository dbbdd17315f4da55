/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages of the heap of which a known block keeps each: one of pin_alone(), or two of pin_left() and
 * pin_right() that share it; all other blocks are freed.  It says how many pages of either kind
 * there are, and waits for a line; "frees" frees those of pin_alone(), "frees both" those of the
 * other two, gives back what can be given back, and says by how much less is resident.  Arguments:
 * pages of each kind, and what is freed. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "say.h"

#define PAGE 4096ul
#define SIZE 1008ul /* with its header a quarter of a page */
#define MOST 20000

NOINLINE void *pin_alone(void)
{
	return memset(malloc(SIZE), 1, SIZE);
}

NOINLINE void *pin_left(void)
{
	return memset(malloc(SIZE), 2, SIZE);
}

NOINLINE void *pin_right(void)
{
	return memset(malloc(SIZE), 3, SIZE);
}

NOINLINE void *fill(void)
{
	return memset(malloc(SIZE), 4, SIZE);
}

static void *alone[MOST], *both[2 * MOST], *filled[8 * MOST];
static size_t alone_count, both_count, filled_count;

static unsigned long resident(void)
{
	unsigned long kib = 0;
	char line[256];
	FILE *file = fopen("/proc/self/smaps_rollup", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Rss: %lu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

/* Where a block of the heap's end comes to be is known before. */
static void make_page(int shared)
{
	for (unsigned quarter = 0; quarter < 4; quarter++) {
		if (quarter == 0 && !shared)
			alone[alone_count++] = pin_alone();
		else if (quarter == 0)
			both[both_count++] = pin_left();
		else if (quarter == 1 && shared)
			both[both_count++] = pin_right();
		else
			filled[filled_count++] = fill();
	}
}

int main(int argc, char **argv)
{
	unsigned pages = (unsigned)atoi(argv[1]);
	unsigned long before;
	uintptr_t first, at;

	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 256 << 20);
	resident(); /* stdio's buffer is there, and stays */
	/* The next block of this size begins 16 bytes into a page, header and all within it. */
	first = (uintptr_t)malloc(SIZE);
	at = (first + SIZE + 16) % PAGE;
	KEEP(malloc(2 * PAGE + 8 - at));
	for (unsigned i = 0; i < 2 * pages; i++)
		make_page(i >= pages);
	for (size_t i = 0; i < alone_count; i++)
		if ((uintptr_t)alone[i] % PAGE != 16 || (uintptr_t)both[2 * i] % PAGE != 16 ||
		    (uintptr_t)both[2 * i] / PAGE != (uintptr_t)both[2 * i + 1] / PAGE)
			fail("a block is not where it should be: %p", alone[i]);
	KEEP(pin_alone()); /* behind the last page: the heap's end stays where it is */
	for (size_t i = 0; i < filled_count; i++)
		free(filled[i]);
	malloc_trim(0);
	say("1");
	if (getchar() < 0)
		return 1;
	if (argc > 2) {
		before = resident();
		for (size_t i = 0; i < alone_count && !strcmp(argv[2], "frees"); i++)
			free(alone[i]);
		for (size_t i = 0; i < both_count && !strcmp(argv[2], "frees both"); i++)
			free(both[i]);
		malloc_trim(0);
		say(" %lu", before - resident());
	}
	return 0;
}
