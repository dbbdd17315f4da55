/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Something for every viewer: leaks, a peak that is gone at the end, temporary blocks, reallocs,
 * recursion through two functions, an inlined function and (with "threads") a thread with a name.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[256];
static unsigned kept_count;

__attribute__((noinline)) void leak(void)
{
	for (int i = 0; i < 50; i++)
		kept[kept_count++] = malloc(700 + i);
	__asm__ volatile("");
}

static inline __attribute__((always_inline)) void *inlined_pair(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) void temporary(void)
{
	for (int i = 0; i < 300; i++)
		free(inlined_pair(40 + i % 5));
	__asm__ volatile("");
}

__attribute__((noinline)) void grow(void)
{
	char *p = NULL;

	for (int i = 1; i <= 40; i++)
		p = realloc(p, 100 * i);
	kept[kept_count++] = p;
	__asm__ volatile("");
}

__attribute__((noinline)) void odd(int n);

__attribute__((noinline)) void even(int n)
{
	if (n)
		odd(n - 1);
	kept[kept_count++] = malloc(11);
	__asm__ volatile("");
}

__attribute__((noinline)) void odd(int n)
{
	if (n)
		even(n - 1);
	kept[kept_count++] = malloc(13);
	__asm__ volatile("");
}

__attribute__((noinline)) void peak(void)
{
	char *blocks[20];

	for (int i = 0; i < 20; i++) {
		blocks[i] = malloc(100000);
		memset(blocks[i], 1, 100000);
		usleep(2000);
	}
	for (int i = 0; i < 20; i++)
		free(blocks[i]);
	usleep(20000);
	__asm__ volatile("");
}

static void *run(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "viewed worker");
	temporary();
	leak();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	leak();
	temporary();
	grow();
	even(9);
	peak();
	if (argc > 1) {
		pthread_create(&thread, NULL, run, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}
