/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An allocator that may be called in signal handlers, even when they interrupt it: one atomic
 * addition.  Preloaded behind the recorder, it lets a test allocate in a handler that interrupts
 * the recorder anywhere. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA (sizeof(void *) < 8 ? 512ull << 20 : 8ull << 30)

static _Atomic uintptr_t next, end;

static void *take(size_t alignment, size_t size)
{
	size_t need = size + alignment + 16;
	uintptr_t at, block;

	if (!next) {
		uintptr_t expected = 0;
		void *map = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (map == MAP_FAILED)
			return NULL;
		if (atomic_compare_exchange_strong(&next, &expected, (uintptr_t)map))
			end = (uintptr_t)map + ARENA;
		else
			munmap(map, ARENA);
	}
	need = (need + 15) & ~15ull;
	if (need > ARENA)
		return NULL;
	at = atomic_fetch_add(&next, need);
	if (end && at + need > end)
		return NULL;
	block = (at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
	((size_t *)block)[-1] = size;
	return (void *)block;
}

void *malloc(size_t size)
{
	return take(16, size);
}

void *calloc(size_t n, size_t size)
{
	return take(16, n * size); /* fresh pages are zero, and nothing is used again */
}

void free(void *block)
{
	(void)block;
}

void *realloc(void *old, size_t size)
{
	void *block = take(16, size);
	size_t had;

	if (block && old) {
		had = ((size_t *)old)[-1];
		memcpy(block, old, had < size ? had : size);
	}
	return block;
}

void *memalign(size_t alignment, size_t size)
{
	return take(alignment < 16 ? 16 : alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	*ret = memalign(alignment, size);
	return *ret ? 0 : 12;
}

size_t malloc_usable_size(void *block)
{
	return block ? ((size_t *)block)[-1] : 0;
}
