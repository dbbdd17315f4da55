/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An allocator of the program's own with functions that cannot be hooked: one that is chosen at run
 * time, one that jumps back to its start.  The others can. */
#include <stddef.h>

#include "say.h"

static char arena[1 << 20];
static size_t used;

NOINLINE void *malloc(size_t size)
{
	void *block = arena + used;

	used += (size + 15) & ~15ul;
	return block;
}

NOINLINE void free(void *block)
{
	KEEP(block);
}

static void *aligned(size_t alignment, size_t size)
{
	used = (used + alignment - 1) & ~(alignment - 1);
	return malloc(size);
}

static void *choose(void)
{
	return aligned;
}

void *memalign(size_t, size_t) __attribute__((ifunc("choose")));

/* Counts its argument down at its first instruction. */
__asm__(".globl pvalloc\n"
	".type pvalloc, @function\n"
	"pvalloc:\n"
	"	dec %rdi\n"
	"	jne pvalloc\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".size pvalloc, . - pvalloc\n");
void *pvalloc(size_t);

static NOINLINE void work(void)
{
	for (int i = 0; i < 10; i++) {
		free(HIDE(malloc(100)));
		KEEP(memalign(64, 200));
		KEEP(pvalloc(50));
	}
}

int main(void)
{
	work();
	say("done\n");
	return 0;
}
