/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MEMORY_PROFILER_ZERO_MEMORY: new blocks are zeroed, as calloc's are.
 *
 * The hooks call the same table as ever; these functions stand in it in front of the allocator's,
 * so that nothing is asked where nothing is zeroed.  What realloc adds to a block stays as the
 * allocator made it. */
#include "recorder/real.h"

#include <string.h>

#define MALLOCX_ZERO 0x40

static struct real under; /* the table as it was */

static void *cleared(void *p, size_t size)
{
	if (p)
		memset(p, 0, size);
	return p;
}

static void *zero_malloc(size_t size)
{
	return under.calloc(1, size);
}

static void *zero_realloc(void *p, size_t size)
{
	return p ? under.realloc(p, size) : under.calloc(1, size);
}

static int zero_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int error = under.posix_memalign(ret, alignment, size);

	if (!error)
		cleared(*ret, size);
	return error;
}

static void *zero_mallocx(size_t size, int flags)
{
	return under.mallocx(size, flags | MALLOCX_ZERO);
}

/* X(name, parameters, arguments) */
#define CLEARED(X)                                                                                 \
	X(memalign, (size_t align, size_t size), (align, size))                                    \
	X(aligned_alloc, (size_t align, size_t size), (align, size))                               \
	X(valloc, (size_t size), (size))                                                           \
	X(pvalloc, (size_t size), (size))                                                          \
	X(_Znwm, (size_t size), (size))                                                            \
	X(_Znam, (size_t size), (size))                                                            \
	X(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))                        \
	X(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))                        \
	X(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))                        \
	X(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))                        \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),        \
	  (size, align, tag))                                                                      \
	X(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),        \
	  (size, align, tag))

#define X(name, parameters, arguments)                                                             \
	static void *zero_##name parameters                                                        \
	{                                                                                          \
		return cleared(under.name arguments, size);                                        \
	}
CLEARED(X)
#undef X

void zero_init(void)
{
	under = real;
	real.malloc = zero_malloc;
	real.realloc = zero_realloc;
	if (under.posix_memalign)
		real.posix_memalign = zero_posix_memalign;
	if (under.mallocx)
		real.mallocx = zero_mallocx;
#define X(name, parameters, arguments)                                                             \
	if (under.name)                                                                            \
		real.name = zero_##name;
	CLEARED(X)
#undef X
}
