/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One call of each kind, each on its own line, and a mapping that is no allocation. */
#include <sys/mman.h>

#include "say.h"

int main(void)
{
	void *kept[3], *p, *map;

	kept[0] = HIDE(malloc(10));
	p = HIDE(malloc(100));
	free(p);
	p = HIDE(malloc(1000));
	p = HIDE(realloc(p, 10000));
	kept[1] = HIDE(calloc(100, 1000));
	if (posix_memalign(&kept[2], 65536, 1000000))
		return 1;
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(map, 4096);
	KEEP(kept);
	return 0;
}
