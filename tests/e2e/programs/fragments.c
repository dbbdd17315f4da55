// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory that is kept by a part of what it was taken for: several functions allocate blocks of
// several sizes in turn, then most of them are freed again by a pattern, so that slabs stay partly
// used.  The same calls in each run.  Then "ready", and the end when standard input ends.
//   nodes   80 B, one of 2 stays           names   128 B, one of 4
//   rows    192 B, one of 3                more    192 B (the same class), two of 3
//   texts   224 B and 896 B from one line: one of 2 stays
//   images  100 KB: large, one of 2
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 160000u

struct kind {
	void *(*make)(unsigned n);
	unsigned every; // a block each so many rounds
	unsigned of, stay;
	void **blocks;
	unsigned count;
};

#define KIND __attribute__((noinline, noclone)) static void *
#define TAKE(size)                                                                                 \
	size_t amount = (size);                                                                    \
	void *volatile block = malloc(amount);                                                     \
	memset(block, 1, amount);                                                                  \
	return block

KIND nodes(unsigned n)
{
	TAKE(80);
}

KIND names(unsigned n)
{
	TAKE(128);
}

KIND rows(unsigned n)
{
	TAKE(192);
}

KIND more(unsigned n)
{
	TAKE(192);
}

KIND texts(unsigned n)
{
	TAKE(n / 2 % 2 ? 896 : 224);
}

KIND images(unsigned n)
{
	TAKE(100000);
}

static struct kind kinds[] = {
	{ nodes, 1, 2, 1 }, { names, 1, 4, 1 }, { rows, 2, 3, 1 },
	{ more, 2, 3, 2 },  { texts, 6, 2, 1 }, { images, 4000, 2, 1 },
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

int main(void)
{
	char c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned k = 0; k < KINDS; k++)
		kinds[k].blocks = calloc(ROUNDS, sizeof(void *));
	for (unsigned i = 0; i < ROUNDS; i++)
		for (unsigned k = 0; k < KINDS; k++)
			if (i % kinds[k].every == 0) {
				kinds[k].blocks[kinds[k].count] = kinds[k].make(kinds[k].count);
				kinds[k].count++;
			}
	for (unsigned k = 0; k < KINDS; k++)
		for (unsigned i = 0; i < kinds[k].count; i++)
			if (i % kinds[k].of >= kinds[k].stay)
				free(kinds[k].blocks[i]);
	puts("ready");
	do
		poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, -1);
	while (read(0, &c, 1) > 0);
	_exit(0);
}
