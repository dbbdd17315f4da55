/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that libc maps for itself, each by a function of its own; says what it got. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "say.h"

#define MIB (1u << 20)

static NOINLINE void options_are_set(void)
{
	/* Else the first block that is freed makes it larger. */
	KEEP(mallopt(M_MMAP_THRESHOLD, 128 * 1024));
	KEEP(mallopt(M_ARENA_MAX, 7));
	KEEP(mallopt(12345, -1));
}

static NOINLINE char *large_block(void)
{
	char *block = HIDE(malloc(3 * MIB));

	say("large %p\n", (void *)block);
	KEEP(block);
	return block;
}

static NOINLINE char *regrown_block(void)
{
	char *block = HIDE(malloc(MIB));

	block = HIDE(realloc(block, 16 * MIB));
	say("regrown %p\n", (void *)block);
	KEEP(block);
	return block;
}

static NOINLINE void heap_grows(void)
{
	for (int i = 0; i < 600; i++)
		*(volatile char *)malloc(1000) = 1;
	say("heap %p\n", HIDE(malloc(1000)));
}

static NOINLINE void moves_break(void)
{
	char *end = sbrk(40960);

	say("break %p\n", (void *)end);
	KEEP(end);
}

static NOINLINE void arena_is_made(void)
{
	say("arena %p\n", HIDE(malloc(2000)));
}

static void *thread_main(void *unused)
{
	char here;

	say("stack %p\n", (void *)&here);
	arena_is_made();
	return unused;
}

static NOINLINE void thread_is_made(void)
{
	pthread_attr_t attributes;
	pthread_t t;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 3 * MIB);
	if (pthread_create(&t, &attributes, thread_main, NULL))
		fail("no thread");
	pthread_join(t, NULL);
}

static void handler(int signal)
{
	char *block = malloc(5 * MIB);

	KEEP(signal);
	say("handled %p\n", (void *)block);
}

static NOINLINE void handler_maps(void)
{
	signal(SIGALRM, handler);
	KEEP(raise(SIGALRM));
}

/* The program's own, by each of the ways to find the function: one event each. */
static NOINLINE void maps_itself(void)
{
	void *(*found)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_DEFAULT, "mmap64");
	void *(*next)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
	void *(*volatile called)(void *, size_t, int, int, int, off_t) = mmap;
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	say("own %p\n", mmap(NULL, 7 * 4096, prot, flags, -1, 0));
	say("own %p\n", found(NULL, 7 * 4096, prot, flags, -1, 0));
	say("own %p\n", next(NULL, 7 * 4096, prot, flags, -1, 0));
	say("own %p\n", called(NULL, 7 * 4096, prot, flags, -1, 0));
}

static NOINLINE void gives_back(void)
{
	char *map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(map, 1, MIB);
	KEEP(madvise(map + 8192, 65536, MADV_DONTNEED));
	KEEP(madvise(map, MIB, MADV_HUGEPAGE));
	KEEP(mprotect(map, 4096, PROT_READ));
	KEEP(malloc_trim(64));
	say("advised %p\n", (void *)map);
	/* Fails, and is not recorded. */
	KEEP(mprotect(map + 1, 4096, PROT_READ));
}

int main(int argc, char **argv)
{
	char *large, *regrown;

	options_are_set();
	heap_grows();
	large = large_block();
	regrown = regrown_block();
	moves_break();
	thread_is_made();
	handler_maps();
	maps_itself();
	gives_back();
	if (argc > 1 && !strcmp(argv[1], "forks") && !fork()) {
		say("child %p\n", HIDE(malloc(6 * MIB)));
		_exit(0);
	}
	wait(NULL);
	free(large);
	free(regrown);
	return 0;
}
