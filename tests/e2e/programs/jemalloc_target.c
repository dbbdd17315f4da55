// SPDX-License-Identifier: MIT OR Apache-2.0
// A program under jemalloc that prints its statistics, each behind a line with the time and what it
// knows itself.
//   leak SECONDS   a megabyte a second of blocks of 4096 bytes, beside other blocks that come and
//   go freed          after 80 MB were freed, and after they were purged both           JSON, text,
//   JSON
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void (*print)(void (*)(void *, const char *), void *, const char *);
static int (*ctl)(const char *, void *, size_t *, void *, size_t);
static size_t leaked;

static void put(void *file, const char *text)
{
	fputs(text, file);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void snapshot(const char *options)
{
	double time = now(CLOCK_REALTIME);
	time_t seconds = time;
	char text[40];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	printf("%s.%06dZ leaked %zu\n", text, (int)((time - seconds) * 1e6), leaked);
	print(put, stdout, options);
	puts("");
	fflush(stdout);
}

static void leak(double seconds)
{
	double start = now(CLOCK_MONOTONIC), passed;
	void *others[100] = { 0 };

	for (unsigned i = 0; (passed = now(CLOCK_MONOTONIC) - start) < seconds; i++) {
		while (leaked < passed * 1048576) {
			memset(malloc(4096), 1, 4096);
			leaked += 4096;
		}
		for (int k = 0; k < 100; k++) {
			free(others[k]);
			others[k] = malloc(16 << (i + k) % 8);
		}
		snapshot("J");
		nanosleep(&(struct timespec){ .tv_nsec = 250000000 }, NULL);
	}
}

int main(int argc, char **argv)
{
	static char *blocks[20000];

	print = dlsym(RTLD_DEFAULT, "malloc_stats_print");
	ctl = dlsym(RTLD_DEFAULT, "mallctl");
	if (!print || !ctl || argc < 2)
		return 3;
	if (!strcmp(argv[1], "leak")) {
		leak(atof(argv[2]));
	} else if (!strcmp(argv[1], "freed")) {
		// Small ones: of large extents that are free jemalloc purges some at once.
		for (int i = 0; i < 20000; i++)
			blocks[i] = memset(malloc(4096), 1, 4096);
		for (int i = 0; i < 20000; i++)
			free(blocks[i]);
		snapshot("J");
		if (ctl("arena.4096.purge", NULL, NULL, NULL, 0))
			return 4;
		snapshot("J");
	} else {
		unsigned arena;
		size_t size = sizeof(arena);

		// With a second arena there is a sum of them.
		if (ctl("arenas.create", &arena, &size, NULL, 0))
			return 4;
		for (int i = 0; i < 1280; i++)
			blocks[i] = malloc(i * 7 + 1);
		for (int i = 0; i < 1280; i += 3)
			free(blocks[i]);
		snapshot("J");
		snapshot("");
		snapshot("J");
	}
	return 0;
}
