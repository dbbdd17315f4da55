/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An allocator that is linked into the program, called by its own names and counted by the program.
 *
 *   inside THREADS OPERATIONS
 *
 * PREFIX is what its names start with; JEMALLOC and MIMALLOC add what only those have.  Blocks go
 * from thread to thread through shared slots; their first word is their size.  Everything is
 * allocated in inside_new or inside_resize, and freed in inside_end.  Prints the totals as one line
 * of JSON. */
#include <pthread.h>
#include <stdatomic.h>

#include "say.h"

#ifndef PREFIX
#define PREFIX
#endif
#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
#define CALL(name) JOIN(PREFIX, name)

void *CALL(malloc)(size_t);
void *CALL(calloc)(size_t, size_t);
void *CALL(realloc)(void *, size_t);
void CALL(free)(void *);
int CALL(posix_memalign)(void **, size_t, size_t);
void *CALL(memalign)(size_t, size_t);
#ifdef JEMALLOC
void *CALL(mallocx)(size_t, int);
void *CALL(rallocx)(void *, size_t, int);
size_t CALL(xallocx)(void *, size_t, size_t, int);
size_t CALL(sallocx)(const void *, int);
void CALL(dallocx)(void *, int);
void CALL(sdallocx)(void *, size_t, int);
#endif
#ifdef MIMALLOC
#include <mimalloc.h>
#endif

#define SLOTS 256
static _Atomic(size_t *) slots[SLOTS];
static uint64_t operations;

struct totals {
	uint64_t allocations, deallocations, reallocations, allocated_bytes;
};
static struct totals totals[64];

static void lives(struct totals *t, size_t *block, size_t size)
{
	if (!block)
		fail("out of memory");
	*block = size;
	t->allocations++;
	t->allocated_bytes += size;
}

static NOINLINE size_t *inside_new(struct totals *t, uint32_t kind, size_t size)
{
	void *block = NULL;

	size = (size + 8) & ~7ull;
	switch (kind % 8) {
	case 0:
		block = CALL(calloc)(size / 8, 8);
		break;
	case 1:
		if (CALL(posix_memalign)(&block, 64, size))
			block = NULL;
		break;
	case 2:
		block = CALL(memalign)(128, size);
		break;
	case 3:
		block = CALL(realloc)(NULL, size);
		break;
#ifdef JEMALLOC
	case 4:
		block = CALL(mallocx)(size, 6 /* MALLOCX_ALIGN(64) */ | 0x40 /* MALLOCX_ZERO */);
		break;
#endif
#ifdef MIMALLOC
	case 4:
		block = mi_zalloc(size);
		break;
	case 5:
		block = mi_heap_malloc(mi_heap_get_default(), size);
		break;
	case 6:
		block = mi_malloc_aligned(size, 256);
		break;
	case 7:
		block = mi_new(size);
		break;
#endif
	default:
		block = CALL(malloc)(size);
	}
	KEEP(block);
	lives(t, block, size);
	return block;
}

static NOINLINE size_t *inside_resize(struct totals *t, uint32_t kind, size_t *old, size_t size)
{
	size_t *block;

	size = (size + 8) & ~7ull;
#ifdef JEMALLOC
	if (kind % 3 == 1) {
		size_t before = CALL(sallocx)(old, 0), now = CALL(xallocx)(old, size, 0, 0);

		if (now == before)
			return old;
		t->reallocations++;
		lives(t, old, now < size ? now : size);
		return old;
	}
	if (kind % 3 == 2)
		block = CALL(rallocx)(old, size, 0);
	else
#endif
		block = CALL(realloc)(old, size);
	KEEP(block);
	t->reallocations++;
	lives(t, block, size);
	return block;
}

static NOINLINE void inside_end(struct totals *t, uint32_t kind, size_t *block)
{
	t->deallocations++;
#ifdef JEMALLOC
	if (kind % 3 == 1)
		CALL(dallocx)(block, 0);
	else
#endif
		CALL(free)(block);
	KEEP(t);
}

static void *run(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	struct totals t = { 0 };
	uint64_t random = 88172645463325252ull + number;

	for (uint64_t i = 0; i < operations; i++) {
		uint32_t r = next_random(&random), slot = next_random(&random) % SLOTS;
		size_t size = next_random(&random) % (r % 16 ? 500 : 100000);
		size_t *block = atomic_exchange(&slots[slot], NULL);

		if (block && r % 4 == 0)
			block = inside_resize(&t, r >> 8, block, size);
		else if (block)
			inside_end(&t, r >> 8, block), block = NULL;
		else
			block = inside_new(&t, r >> 8, size);
		if (block) {
			block = atomic_exchange(&slots[slot], block);
			if (block)
				inside_end(&t, r >> 8, block);
		}
	}
	totals[number] = t;
	return NULL;
}

int main(int argc, char **argv)
{
	uintptr_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	pthread_t ids[64];
	struct totals sum = { 0 };

	operations = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
	if (threads > 64)
		fail("at most 64 threads");
	for (uintptr_t i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)i))
			fail("pthread_create");
	run(NULL);
	for (uintptr_t i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (uintptr_t i = 0; i < threads; i++) {
		sum.allocations += totals[i].allocations;
		sum.deallocations += totals[i].deallocations;
		sum.reallocations += totals[i].reallocations;
		sum.allocated_bytes += totals[i].allocated_bytes;
	}
	say("{\"allocations\": %lu, \"deallocations\": %lu, \"reallocations\": %lu, "
	    "\"allocated_bytes\": %lu}\n",
	    sum.allocations, sum.deallocations, sum.reallocations, sum.allocated_bytes);
	return 0;
}
