/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An allocator of the program's own with functions that cannot be hooked: one that is chosen at run
 * time, one that jumps back to its start, one with a second entry.  The others can. */
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

/* Has a second entry, two bytes behind the first. */
__asm__(".globl valloc, valloc_again\n"
	".type valloc, @function\n"
	".type valloc_again, @function\n"
	"valloc:\n"
	"	xor %eax, %eax\n"
	"valloc_again:\n"
	"	xor %edx, %edx\n"
	"	xor %ecx, %ecx\n"
	"	ret\n"
	".size valloc, . - valloc\n"
	".size valloc_again, . - valloc_again\n");
void *valloc(size_t), *valloc_again(size_t);

static NOINLINE void work(void)
{
	for (int i = 0; i < 10; i++) {
		free(HIDE(malloc(100)));
		KEEP(memalign(64, 200));
		KEEP(pvalloc(50));
		KEEP(valloc(50));
		KEEP(valloc_again(50));
	}
}

int main(void)
{
	work();
	say("done\n");
	return 0;
}
