/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One block of each kind, with sizes that tell them apart; one is freed, one reallocated. */
#include <malloc.h>

#include "say.h"

NOINLINE void basic(void)
{
	void *p;

	HIDE(malloc(10));
	free(HIDE(malloc(100)));
	p = HIDE(malloc(1000));
	p = HIDE(realloc(p, 10000));
	HIDE(calloc(100, 1000));
	if (posix_memalign(&p, 65536, 1000000) || (uintptr_t)p % 65536)
		fail("posix_memalign");
}

int main(void)
{
	basic();
	return 0;
}
