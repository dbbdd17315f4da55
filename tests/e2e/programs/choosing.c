// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations that filters are to find: sizes, chains, threads, calls, recursion, leaks.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void *inner(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

__attribute__((noinline)) void *recurse(int depth, size_t n)
{
	void *p = depth ? recurse(depth - 1, n) : inner(n);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

__attribute__((noinline)) void *chain(void)
{
	char *p = inner(100);

	for (int i = 2; i <= 5; i++)
		p = realloc(p, (size_t)i * 100);
	return p;
}

__attribute__((noinline)) void *leak(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" ::"r"(p) : "memory");
	return p;
}

static void *thread(void *block)
{
	pthread_setname_np(pthread_self(), "chooser");
	free(block);
	return leak(3333);
}

int main(void)
{
	pthread_t t;
	void *blocks[10];

	for (int i = 0; i < 10; i++)
		blocks[i] = recurse(i, 1000 + (size_t)i);
	usleep(20000);
	for (int i = 0; i < 5; i++)
		free(blocks[i]);
	free(chain());
	for (int i = 0; i < 7; i++)
		free(calloc(2, 4001));
	pthread_create(&t, NULL, thread, inner(2222));
	pthread_join(t, NULL);
	leak(5000000);
	return 0;
}
