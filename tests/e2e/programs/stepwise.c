/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocates when it is told to: one block at its start, then what each line of stdin says.
 *
 *	a	one more block, in step()
 *	m N	N blocks of 100 bytes, in many(), every second one freed
 *	q	the end
 * After each it answers on stdout. */
#include "say.h"

static void *volatile last;

static NOINLINE void first(void)
{
	last = HIDE(malloc(1001));
}

static NOINLINE void step(int n)
{
	last = HIDE(malloc(2000 + (size_t)n));
}

static NOINLINE void many(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = HIDE(malloc(100));

		if (i & 1)
			free(p);
	}
}

static void answer(const char *text)
{
	(void)!write(1, text, strlen(text));
}

int main(void)
{
	char line[64];
	size_t n = 0;
	int steps = 0;

	first();
	answer("ready\n");
	while (read(0, line + n, 1) == 1) {
		if (line[n++] != '\n' && n < sizeof(line) - 1)
			continue;
		line[n] = 0;
		n = 0;
		if (line[0] == 'a')
			step(++steps);
		else if (line[0] == 'm')
			many(atoi(line + 2));
		else
			return 0;
		answer("done\n");
	}
	return 0;
}
