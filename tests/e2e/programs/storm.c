/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Eight threads allocate as fast as they can until they are killed, and count what they have
 * finished in a shared file: storm FILE.  Thread N allocates in storm_N only. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "say.h"

struct count {
	_Atomic uint64_t allocations, frees;
	char pad[48];
};

static struct count *counts;

static NOINLINE void step(struct count *c, void **slots, uint64_t *random, void *(*make)(size_t))
{
	uint32_t r = next_random(random), slot = r % 64;

	if (slots[slot]) {
		free(slots[slot]);
		slots[slot] = NULL;
		atomic_store_explicit(&c->frees, c->frees + 1, memory_order_release);
	} else {
		slots[slot] = make(r >> 8 & 511);
		atomic_store_explicit(&c->allocations, c->allocations + 1, memory_order_release);
	}
}

#define STORM(n)                                                                                   \
	static NOINLINE void *storm_##n(size_t size)                                               \
	{                                                                                          \
		void *block = HIDE(malloc(size + 1));                                              \
		KEEP(block);                                                                       \
		return block;                                                                      \
	}                                                                                          \
	static void *run_##n(void *argument)                                                       \
	{                                                                                          \
		void *slots[64] = { 0 };                                                           \
		uint64_t random = 1234567 + n;                                                     \
		for (;;)                                                                           \
			step(&counts[n], slots, &random, storm_##n);                               \
		return argument;                                                                   \
	}

STORM(0)
STORM(1)
STORM(2)
STORM(3)
STORM(4)
STORM(5)
STORM(6)
STORM(7)

int main(int argc, char **argv)
{
	static void *(*const runs[8])(void *) = { run_0, run_1, run_2, run_3,
						  run_4, run_5, run_6, run_7 };
	pthread_t threads[8];
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	if (fd < 0 || ftruncate(fd, 4096))
		fail("cannot open the file of counts");
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		fail("mmap");
	close(fd);
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, runs[i], NULL))
			fail("pthread_create");
	for (;;)
		pause();
}
