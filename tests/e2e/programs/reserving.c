/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Maps terabytes and touches a page in each gigabyte of the first few, as sanitizers and runtimes
 * with one large address range do; then rests, so that samples are taken. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIB (1ull << 40)

int main(void)
{
	char *range = mmap(NULL, 16 * TIB, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (range == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(range, 16 * TIB, MADV_NOHUGEPAGE);
	for (int i = 0; i < 64; i++)
		range[(size_t)i << 30] = 1;
	free(malloc(100));
	sleep(1);
	puts("done");
	return 0;
}
