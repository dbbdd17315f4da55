/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random calls of every kind from N threads, counted by the program itself.
 *
 *   oracle THREADS OPERATIONS
 *
 * Threads hand blocks to each other through shared slots, so most frees happen on another thread
 * than the allocation, and realloc chains wander.  A block's first word is its size.  Every
 * allocation is made inside oracle_alloc or oracle_realloc, every free inside oracle_free.  Prints
 * the totals as one line of JSON. */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "say.h"

#define SLOTS 512

struct totals {
	uint64_t allocations, deallocations, reallocations, allocated_bytes;
	int64_t live_bytes, peak_bytes; /* the peak is exact with one thread only */
};

static _Atomic(void *) slots[SLOTS];
static struct totals totals[64];
static uint64_t operations;

static int64_t size_of(const void *block)
{
	return (int64_t) * (const size_t *)block;
}

static void lives(struct totals *t, void *block, size_t size)
{
	*(size_t *)block = size;
	t->allocations++;
	t->allocated_bytes += size;
	t->live_bytes += (int64_t)size;
	if (t->live_bytes > t->peak_bytes)
		t->peak_bytes = t->live_bytes;
}

static NOINLINE void *oracle_alloc(struct totals *t, uint32_t kind, size_t size)
{
	void *block = NULL;

	size += sizeof(size_t);
	switch (kind % 8) {
	case 0:
	case 1:
	case 2:
		block = malloc(size);
		break;
	case 3:
		block = calloc(1 + size / 8, 8);
		size = (1 + size / 8) * 8;
		break;
	case 4:
		if (posix_memalign(&block, 64, size))
			block = NULL;
		break;
	case 5:
		size = (size + 31) & ~31ull;
		block = aligned_alloc(32, size);
		break;
	case 6:
		block = memalign(128, size);
		break;
	case 7:
		block = reallocarray(NULL, size, 1);
		break;
	}
	if (!block)
		fail("out of memory");
	KEEP(block);
	lives(t, block, size);
	return block;
}

static NOINLINE void *oracle_realloc(struct totals *t, uint32_t kind, void *old, size_t size)
{
	void *block;

	size += sizeof(size_t);
	t->live_bytes -= size_of(old);
	block = kind & 1 ? realloc(old, size) : reallocarray(old, size, 1);
	if (!block)
		fail("out of memory");
	KEEP(block);
	t->reallocations++;
	lives(t, block, size);
	return block;
}

static NOINLINE void oracle_free(struct totals *t, void *block)
{
	t->deallocations++;
	t->live_bytes -= size_of(block);
	free(block);
	KEEP(t);
}

static void *run(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	struct totals t = { 0 };
	uint64_t random = 88172645463325252ull + number;

	for (uint64_t i = 0; i < operations; i++) {
		uint32_t r = next_random(&random), slot = next_random(&random) % SLOTS;
		size_t size =
			r % 16 == 0 ? next_random(&random) % 200000 : next_random(&random) % 500;
		void *block = atomic_exchange(&slots[slot], NULL);

		if (block && r % 4 == 0)
			block = oracle_realloc(&t, r >> 8, block, size);
		else if (block && r % 4 < 3)
			oracle_free(&t, block), block = NULL;
		else if (!block)
			block = oracle_alloc(&t, r >> 8, size);
		if (block) {
			block = atomic_exchange(&slots[slot], block);
			if (block)
				oracle_free(&t, block);
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

	operations = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
	if (threads > 64)
		fail("at most 64 threads");
	if (threads == 1) {
		run(NULL);
	} else {
		for (uintptr_t i = 0; i < threads; i++)
			if (pthread_create(&ids[i], NULL, run, (void *)i))
				fail("pthread_create");
		for (uintptr_t i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
	}
	for (uintptr_t i = 0; i < threads; i++) {
		sum.allocations += totals[i].allocations;
		sum.deallocations += totals[i].deallocations;
		sum.reallocations += totals[i].reallocations;
		sum.allocated_bytes += totals[i].allocated_bytes;
		sum.live_bytes += totals[i].live_bytes;
		sum.peak_bytes += totals[i].peak_bytes;
	}
	say("{\"allocations\": %" PRIu64 ", \"deallocations\": %" PRIu64
	    ", \"reallocations\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
	    ", \"leaked_bytes\": %" PRId64 ", \"peak_bytes\": %" PRId64 "}\n",
	    sum.allocations, sum.deallocations, sum.reallocations, sum.allocated_bytes,
	    sum.live_bytes, sum.peak_bytes);
	return 0;
}
