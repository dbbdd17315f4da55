/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the program is mapped as: its own file's pages and what may be done with them.  An allocator
 * that is linked with it is hooked in that code. */
#include <malloc.h>

#include "say.h"

int main(void)
{
	char line[512], self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char rights[8];

	if (n <= 0 || !maps)
		fail("no /proc");
	self[n] = 0;
	free(HIDE(malloc(100)));
	/* Neighbours with the same rights are one, however the kernel has them. */
	for (char last[8] = ""; fgets(line, sizeof(line), maps);) {
		if (!strstr(line, self) || sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3)
			continue;
		if (strcmp(last, rights))
			say("%s\n", rights);
		strcpy(last, rights);
	}
	fclose(maps);
	return 0;
}
