/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks in the heap and one that libc maps by itself; then it waits for a line. */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	char c;

	for (int i = 0; i < 100; i++)
		*(volatile char *)malloc(1234) = 1;
	*(volatile char *)malloc(10000000) = 1;
	write(1, "1", 1);
	while (read(0, &c, 1) == 1 && c != '\n')
		;
	return 0;
}
