// SPDX-License-Identifier: MIT OR Apache-2.0
// sentences SCENARIO: programs of which it is known what is to be said first.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEEP(p) __asm__ volatile("" ::"r"(p) : "memory")

static void *kept[20000];

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

__attribute__((noinline)) static void *build_table(size_t n)
{
	void *p = malloc(n);

	KEEP(p);
	return p;
}

__attribute__((noinline)) static void *read_config(size_t n)
{
	void *p = malloc(n);

	KEEP(p);
	return p;
}

__attribute__((noinline)) static void *serve_request(size_t n)
{
	void *p = malloc(n);

	KEEP(p);
	return p;
}

__attribute__((noinline)) static void *map_arena(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	KEEP(p);
	return p;
}

/* All of the peak is one function's, and is freed. */
static void peak(void)
{
	for (int i = 0; i < 100; i++)
		kept[i] = build_table(10000);
	for (int i = 0; i < 100; i++)
		free(kept[i]);
}

/* Three quarters of the peak are one function's and freed; the rest is read at the start and
 * stays. */
static void left(void)
{
	void *config = read_config(1000000);

	for (int i = 0; i < 600; i++) {
		void *table = build_table(3000000), *request = serve_request(100);

		free(table);
		free(request);
	}
	KEEP(config);
}

/* A block with each request is forgotten, for half a second. */
static void growing(void)
{
	kept[0] = read_config(100000);
	for (int i = 1; i <= 500; i++) {
		kept[i] = serve_request(2000);
		free(serve_request(300));
		wait_ms(1);
	}
}

/* The program has its own memory, and uses half of it. */
static void mapped(void)
{
	char *arena = map_arena(64 << 20);

	memset(arena, 1, 32 << 20);
	kept[0] = build_table(1000000);
	wait_ms(700);
	free(kept[0]);
}

/* What is freed stays resident below a block that is not: the allocator keeps it. */
static void resident(void)
{
	for (int i = 0; i < 20000; i++)
		memset(kept[i] = build_table(4000), 1, 4000);
	kept[0] = realloc(kept[0], 10);
	for (int i = 1; i < 19999; i++)
		free(kept[i]);
	wait_ms(400);
	kept[1] = build_table(100);
	wait_ms(100);
}

/* A third more than was asked for. */
static void slack(void)
{
	for (int i = 0; i < 20000; i++)
		kept[i] = build_table(25);
	for (int i = 0; i < 20000; i++)
		free(kept[i]);
}

static pthread_barrier_t together;

static void *worker(void *arg)
{
	void *p = build_table((size_t)arg);

	pthread_barrier_wait(&together);
	free(p);
	return NULL;
}

/* One of four threads has nearly all. */
static void thread(void)
{
	static const size_t sizes[] = { 900000, 10000, 10000, 10000 };
	pthread_t threads[4];

	pthread_barrier_init(&together, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, (void *)sizes[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Each is two megabytes and gone at once. */
static void large(void)
{
	for (int i = 0; i < 150; i++)
		free(serve_request(2 << 20));
}

/* Freed by the next call. */
static void temporary(void)
{
	void *table = build_table(500000);

	for (int i = 0; i < 3000; i++)
		free(serve_request(100));
	free(table);
}

static void zero(void)
{
	void *table = build_table(500000);

	for (int i = 0; i < 3000; i++)
		kept[i] = serve_request(0);
	for (int i = 0; i < 3000; i++)
		free(kept[i]);
	free(table);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {
		{ "peak", peak },     { "left", left },		{ "growing", growing },
		{ "mapped", mapped }, { "resident", resident }, { "slack", slack },
		{ "thread", thread }, { "large", large },	{ "temporary", temporary },
		{ "zero", zero },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(argv[1], scenarios[i].name)) {
			scenarios[i].run();
			return 0;
		}
	return 2;
}
