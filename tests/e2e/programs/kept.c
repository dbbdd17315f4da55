/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that take memory in turns, and free it but for a small block in each stretch of it: glibc
 * gives each thread an arena, and what is free in one is of no use to the others.  Besides, maps of
 * its own and of a file.  The time between is long enough for samples of the memory maps. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>

#include "say.h"

#define MIB (1u << 20)
#define THREADS 6
#define BLOCKS 8000 /* of a thread */
#define BLOCK 1000
#define PINNED 40 /* of so many blocks, one stays */

static sem_t turns[THREADS], done;
static void *pins[THREADS][BLOCKS / PINNED];

NOINLINE void *load(size_t size)
{
	void *p = malloc(size);

	memset(p, 1, size);
	return p;
}

NOINLINE void *pin(size_t size)
{
	void *p = malloc(size);

	memset(p, 2, size);
	return p;
}

NOINLINE void *map_own(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 3, size / 2);
	return p;
}

static void *take(void *context)
{
	size_t me = (size_t)context;
	void *blocks[BLOCKS];

	sem_wait(&turns[me]);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = load(BLOCK);
		if (i % PINNED == PINNED - 1)
			pins[me][i / PINNED] = pin(100);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	sem_post(&done);
	sem_wait(&turns[me]);
	free(load(BLOCK)); /* so that a replay knows that the thread was alive until now */
	return NULL;
}

static void map_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	volatile char *p = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, fd, 0);

	for (size_t i = 0; i < MIB; i += 4096)
		KEEP(p[i]);
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char *own[4];

	sem_init(&done, 0, 0);
	for (size_t i = 0; i < THREADS; i++) {
		sem_init(&turns[i], 0, 0);
		if (pthread_create(&threads[i], NULL, take, (void *)i))
			return 1;
	}
	/* Once each has an arena. */
	for (size_t i = 0; i < THREADS; i++) {
		sem_post(&turns[i]);
		sem_wait(&done);
	}
	if (argc > 3 && !strcmp(argv[3], "trim"))
		malloc_trim(0);
	for (int i = 0; i < 4; i++)
		own[i] = map_own(2 * MIB);
	munmap(own[3], 2 * MIB);
	if (argc > 1)
		map_file(argv[1]);
	if (argc > 2)
		usleep((unsigned)atoi(argv[2]) * 1000);
	for (size_t i = 0; i < THREADS; i++)
		sem_post(&turns[i]);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
