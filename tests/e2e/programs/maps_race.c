/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads map and unmap at once, each other's maps: a map goes into a slot that all share, and
 * whoever takes it out of there unmaps it, whole or in two parts, or maps something else over it.
 * At the end it says what is left, one map a line, and how many were unmapped by another thread
 * than the one that made them.  Arguments: threads, rounds of each. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define RW (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)
#define SLOTS 24

struct held {
	char *start;
	size_t pages;
	unsigned thread;
};

static _Atomic(struct held *) slots[SLOTS];
static atomic_uint foreign, made, over;
static unsigned rounds;

static char *map(void *at, size_t pages, int flags)
{
	char *p = mmap(at, pages * PAGE, RW, ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		abort();
	atomic_fetch_add(&made, 1);
	return p;
}

static void unmap(char *start, size_t pages)
{
	if (munmap(start, pages * PAGE))
		abort();
}

static void end(struct held *h, unsigned how)
{
	switch (how % 3) {
	case 0:
		unmap(h->start, h->pages);
		break;
	case 1:
		if (h->pages > 1)
			unmap(h->start, 1);
		unmap(h->start + (h->pages > 1) * PAGE, h->pages - (h->pages > 1));
		break;
	default:
		map(h->start, h->pages, MAP_FIXED);
		atomic_fetch_add(&over, 1);
		unmap(h->start, h->pages);
	}
}

static void *race(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, seed = me;
	struct held *mine = malloc(rounds * sizeof(*mine)), *was;

	for (unsigned i = 0; i < rounds; i++) {
		struct held *h = &mine[i];

		h->pages = 1 + (unsigned)rand_r(&seed) % 9;
		h->thread = me;
		h->start = map(NULL, h->pages, 0);
		if (i % 4 == 0)
			*h->start = 1;
		if (i % 4 == 1)
			sched_yield();
		was = atomic_exchange(&slots[(unsigned)rand_r(&seed) % SLOTS], h);
		if (!was)
			continue;
		if (was->thread != me)
			atomic_fetch_add(&foreign, 1);
		end(was, (unsigned)rand_r(&seed));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	pthread_t thread[64];

	rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, race, (void *)(uintptr_t)(i + 1)))
			abort();
	for (unsigned i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i])
			printf("left %lu %lu\n", (unsigned long)slots[i]->start,
			       slots[i]->pages * PAGE);
	printf("made %u\nforeign %u\nover %u\n", made, foreign, over);
	return 0;
}
