/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Three ways for memory to be gone at once, N times each: freed by the next call; made longer by
 * the next call; and a block of the same kind freed by the next call, not the block itself. */
#include <stdlib.h>

static char *volatile kept[100];

static void freed(int n)
{
	for (int i = 0; i < n; i++) {
		char *volatile p = malloc(24);

		free(p);
	}
}

static void made_longer(int n)
{
	for (int i = 0; i < n; i++) {
		char *volatile p = malloc(8), *volatile q;

		p = realloc(p, 16);
		p = realloc(p, 64);
		q = malloc(10);
		free(p);
		free(q);
	}
}

static void replaced(int n)
{
	for (int i = 0; i < n; i++) {
		char *p = malloc(40);

		free(kept[i % 100]);
		kept[i % 100] = p;
	}
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);

	freed(n);
	made_longer(n);
	replaced(n);
	return 0;
}
