/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Maps of which every page is known, in three steps: what is mapped, what is touched and unmapped,
 * and the end.  After each step it says so and waits for a line. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul

static char *map(unsigned pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static void unmap(char *p, unsigned first, unsigned count)
{
	if (munmap(p + first * PAGE, count * PAGE))
		abort();
}

static void step(const char *name)
{
	char c;

	write(1, name, 1);
	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

static char *replace(char *p, unsigned page)
{
	char *q = mmap(p + page * PAGE, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (q != p + page * PAGE)
		abort();
	return q;
}

int main(void)
{
	char *untouched = map(123);
	char *touched = map(5);
	char *whole = map(6);
	char *at_start = map(7);
	char *at_end = map(7);
	char *in_middle = map(7);
	char *replaced = map(7);

	step("1");
	*touched = 1;
	touched[PAGE] = 1;
	unmap(whole, 0, 6);
	unmap(at_start, 0, 1);
	unmap(at_end, 6, 1);
	unmap(in_middle, 3, 1);
	replace(replaced, 6);
	step("2");
	return untouched == touched;
}
