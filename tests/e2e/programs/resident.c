/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is resident for one reason or another, in three steps; after each it says so and
 * waits for a line. */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "say.h"

#define MIB (1u << 20)
#define BLOCKS 60000
#define THREADS 40

static void *blocks[BLOCKS];
static int step;

static void *touched(void *p, size_t size)
{
	memset(p, 1, size);
	return p;
}

static NOINLINE void *mapped(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Blocks of many sizes come and go. */
static void storm(void)
{
	static unsigned seed = 1;

	for (int i = 0; i < 400000; i++) {
		unsigned at, size;

		seed = seed * 1103515245 + 12345;
		at = (seed >> 8) % BLOCKS;
		size = 16 + (seed >> 16) % 700;
		free(blocks[at]);
		blocks[at] = touched(malloc(size), size);
	}
}

/* Most are freed, and a few keep their pages. */
static void freed(void)
{
	for (int i = 0; i < BLOCKS; i++)
		if (!blocks[i])
			blocks[i] = touched(malloc(200 + step * 100), 200);
	for (int i = 0; i < BLOCKS; i++)
		if (i % 40) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
}

static void files(void)
{
	char name[] = "/tmp/memoir-resident-XXXXXX";
	int fd = mkstemp(name);
	char *shared, *own;

	unlink(name);
	if (ftruncate(fd, 12 * MIB))
		abort();
	shared = mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	touched(shared, (size_t)(step + 1) * 3 * MIB);
	own = mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	touched(own + 5 * MIB, 2 * MIB);
	KEEP(own[0]);
	touched(mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		3 * MIB);
	close(fd);
}

static void *thread_main(void *unused)
{
	char deep[60000];

	touched(deep, sizeof(deep));
	KEEP(deep[0]);
	for (int i = 0; i < 200; i++)
		touched(malloc(500), 500);
	for (;;)
		pause();
	return unused;
}

static void threads(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread_main, NULL))
			abort();
	}
	usleep(300000);
}

/* One that is mremapped by libc, and one by us. */
static void growing(void)
{
	static char *block, *map;
	size_t size = (size_t)(step + 1) * 6 * MIB;

	block = touched(realloc(block, size), size / 2);
	map = map ? mremap(map, size - 6 * MIB, size, MREMAP_MAYMOVE) : mapped(size);
	touched(map, size / 3);
}

static void huge(void)
{
	char *map = mapped(32 * MIB), *block = aligned_alloc(2 * MIB, 16 * MIB);

	madvise(map, 32 * MIB, MADV_HUGEPAGE);
	madvise(block, 16 * MIB, MADV_HUGEPAGE);
	for (int i = 0; i < 5; i++) {
		map[i * 6 * MIB] = 1;
		block[i * 3 * MIB] = 1;
	}
}

/* A child has half of it, too. */
static void forks(void)
{
	storm();
	if (!fork()) {
		usleep(10000000);
		_exit(0);
	}
	for (int i = 0; i < BLOCKS / 2; i++)
		if (blocks[i])
			touched(blocks[i], 8);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = { { "storm", storm },     { "freed", freed }, { "files", files }, { "threads", threads },
	     { "growing", growing }, { "huge", huge },	 { "forks", forks } };

int main(int argc, char **argv)
{
	for (step = 0; step < 3; step++) {
		char c;

		for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
			if (argc > 1 && !strcmp(argv[1], acts[i].name))
				acts[i].act();
		say("%d", step + 1);
		while (read(0, &c, 1) == 1 && c != '\n')
			;
	}
	_exit(0);
}
