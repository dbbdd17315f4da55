/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* limited allocate: takes 4 MB in small blocks, on two threads in turn, and says how much it got.
 * limited much MB: that much at once, and nothing else.
 * limited lower:    the same in between limits that it lowers itself, to little more than it has.
 * limited lock FLAGS: mlockall, then more memory, and locked memory of its own. */
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "say.h"

#define BLOCKS 500

static void *take(void *got)
{
	static void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = HIDE(malloc(4000));
		if (!blocks[i])
			continue;
		memset(blocks[i], 1, 4000);
		*(size_t *)got += 4000;
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static size_t in_use(void)
{
	char text[100];
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (file && fgets(text, sizeof(text), file))
		pages = strtoul(text, NULL, 10);
	if (file)
		fclose(file);
	return pages * 4096;
}

static void lower(int which, size_t to)
{
	struct rlimit limit = { to, RLIM_INFINITY };

	getrlimit(which, &limit);
	limit.rlim_cur = to;
	setrlimit(which, &limit);
}

static void lock(int flags)
{
	int result = mlockall(flags);
	char *p;

	say("mlockall %d %s\n", result, result ? strerror(errno) : "");
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("mmap %d\n", p != MAP_FAILED);
	if (p != MAP_FAILED)
		say("mlock %d\n", mlock(p, 1 << 20));
}

int main(int argc, char **argv)
{
	size_t got[2] = { 0, 0 };
	pthread_t thread;

	if (!strcmp(argv[1], "much")) {
		for (int i = 0; i < 16 * atoi(argv[2]); i++)
			got[0] += HIDE(malloc(65536)) ? 65536 : 0;
		say("%zu\n", got[0]);
		return 0;
	}
	mallopt(M_ARENA_MAX, 1);
	if (!strcmp(argv[1], "lower")) {
		free(malloc(1));
		lower(RLIMIT_FSIZE, 0);
		lower(RLIMIT_NOFILE, 4);
		lower(RLIMIT_AS, in_use() + (24 << 20));
	}
	take(&got[0]);
	if (!strcmp(argv[1], "lock"))
		lock(atoi(argv[2]));
	if (!pthread_create(&thread, NULL, take, &got[1]))
		pthread_join(thread, NULL);
	say("%zu %zu\n", got[0], got[1]);
	return 0;
}
