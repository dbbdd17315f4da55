/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocates so many blocks of 100 bytes as each line of its input says, and says how many it has;
 * none is ever freed. */
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void grow(long count)
{
	for (long i = 0; i < count; i++)
		kept = malloc(100);
}

int main(void)
{
	long all = 0;
	char line[32];

	setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		grow(atol(line));
		all += atol(line);
		printf("%ld\n", all);
	}
	return 0;
}
