/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls each function of the C library that allocates or frees, with a size of its own, each from
 * a function of its own: use_<name>.  Prints nothing. */
#include <malloc.h>

#include "say.h"

extern void free_sized(void *, size_t) __attribute__((weak));
extern void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

static NOINLINE void *use_malloc(void)
{
	return HIDE(malloc(10001));
}

static NOINLINE void *use_calloc(void)
{
	return HIDE(calloc(10002, 3)); /* 30006 */
}

static NOINLINE void *use_realloc(void *old)
{
	return HIDE(realloc(old, 10003));
}

static NOINLINE void *use_reallocarray(void *old)
{
	return HIDE(reallocarray(old, 10004, 2)); /* 20008 */
}

static NOINLINE void *use_posix_memalign(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 256, 10005))
		fail("posix_memalign");
	return HIDE(block);
}

static NOINLINE void *use_memalign(void)
{
	return HIDE(memalign(512, 10006));
}

static NOINLINE void *use_aligned_alloc(void)
{
	return HIDE(aligned_alloc(1024, 10240));
}

static NOINLINE void *use_valloc(void)
{
	return HIDE(valloc(10008));
}

static NOINLINE void *use_pvalloc(void)
{
	return HIDE(pvalloc(10009));
}

static NOINLINE void use_free(void *block)
{
	free(block);
	KEEP(block);
}

static NOINLINE void use_free_sized(void *block, size_t size)
{
	if (free_sized)
		free_sized(block, size);
	else
		free(block);
	KEEP(block);
}

static NOINLINE void use_free_aligned_sized(void *block, size_t alignment, size_t size)
{
	if (free_aligned_sized)
		free_aligned_sized(block, alignment, size);
	else
		free(block);
	KEEP(block);
}

int main(void)
{
	void *a = use_malloc(), *b = use_calloc(), *c = use_realloc(NULL);
	void *d = use_reallocarray(NULL), *e = use_posix_memalign(), *f = use_memalign();
	void *g = use_aligned_alloc(), *h = use_valloc(), *i = use_pvalloc();

	if ((uintptr_t)e % 256 || (uintptr_t)f % 512 || (uintptr_t)g % 1024 ||
	    (uintptr_t)h % 4096 || (uintptr_t)i % 4096)
		fail("alignment");
	a = use_realloc(a);	 /* 10003 again */
	a = use_reallocarray(a); /* 20008 again */
	use_free(a);
	use_free(b);
	use_free(c);
	use_free(d);
	use_free_sized(e, 10005);
	use_free_aligned_sized(f, 512, 10006);
	use_free(g);
	/* h and i leak */
	KEEP(h);
	KEEP(i);
	return 0;
}
