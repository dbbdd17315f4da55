/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* So many mappings that the kernel does not join, all of them touched; and then it waits. Argument:
 * how many. */
#include <stdlib.h>
#include <sys/mman.h>

#include "say.h"

#define PAGE 4096ul

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

	for (unsigned i = 0; i < count; i++) {
		char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED)
			return 1;
		*p = 1;
		/* Its neighbours have other permissions. */
		if (i % 2 && mprotect(p, 4 * PAGE, PROT_READ))
			return 1;
	}
	say("1");
	return read(0, &count, 1) < 0;
}
