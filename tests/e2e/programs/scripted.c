/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* scripted SCENARIO [NUMBER]: programs of which it is known what the scripts of examples/scripts
 * must say. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../../include/memoir.h"

#define STEPS 400
#define KEEP(p) __asm__ volatile("" ::"r"(p) : "memory")
#define SITE __attribute__((noinline))

static void wait_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

SITE static void *linear_leak(void)
{
	void *p = malloc(500);

	KEEP(p);
	return p;
}

SITE static void *bounded_leak(void)
{
	void *p = malloc(700);

	KEEP(p);
	return p;
}

SITE static void *freed_at_exit(void)
{
	void *p = malloc(600);

	KEEP(p);
	return p;
}

SITE static void *mixed_site(void)
{
	void *p = malloc(400);

	KEEP(p);
	return p;
}

SITE static void *temporary_only(void)
{
	void *p = malloc(3000);

	KEEP(p);
	return p;
}

/* A leak that grows to the end, one that stops early, what is freed at the end, and a site two of
 * three blocks of which are freed. */
static void leaks(void)
{
	void *held[STEPS], *mixed;

	for (int i = 0; i < STEPS; i++) {
		linear_leak();
		if (i < STEPS / 3)
			bounded_leak();
		held[i] = freed_at_exit();
		mixed = mixed_site();
		if (i % 3)
			free(mixed);
		free(temporary_only());
		wait_us(1500);
	}
	for (int i = 0; i < STEPS; i++)
		free(held[i]);
}

SITE static void *answer_part(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	return p;
}

/* Request i takes i blocks of 100 bytes; the 13th one of 50000 bytes besides, and the 7th forgets
 * its first block. */
static void requests(void)
{
	for (unsigned i = 1; i <= 20; i++) {
		void *parts[20];

		memoir_set_marker(i);
		for (unsigned k = 0; k < i; k++)
			parts[k] = answer_part(100);
		if (i == 13)
			free(answer_part(50000));
		for (unsigned k = i == 7; k < i; k++)
			free(parts[k]);
	}
	memoir_set_marker(0);
}

SITE static void *thread_block(void)
{
	void *p = malloc(100000);

	KEEP(p);
	return p;
}

/* Has so many blocks at once, twice. */
static void *use_blocks(void *count)
{
	long n = (long)count;
	void *blocks[64];
	char name[16];

	snprintf(name, sizeof(name), "user %ld", n);
	pthread_setname_np(pthread_self(), name);
	for (int round = 0; round < 2; round++) {
		for (long i = 0; i < n; i++)
			blocks[i] = thread_block();
		for (long i = 0; i < n; i++)
			free(blocks[i]);
	}
	return NULL;
}

static void threads(void)
{
	static const long counts[] = { 1, 10, 40 };
	pthread_t ids[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&ids[i], NULL, use_blocks, (void *)counts[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(ids[i], NULL);
}

SITE static void *table_of(long rows)
{
	void *p = malloc((size_t)rows * 1000);

	KEEP(p);
	return p;
}

/* A table that is kept, and a thousand buffers that are not. */
static void build(long rows)
{
	void *table = table_of(rows);

	for (int i = 0; i < 1000; i++)
		free(temporary_only());
	KEEP(table);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "leaks"))
		leaks();
	else if (!strcmp(what, "requests"))
		requests();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "build"))
		build(atol(argv[2]));
	else
		return 2;
	return 0;
}
