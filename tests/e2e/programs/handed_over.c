/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks that one thread allocates and another frees, that grow, that are of no bytes, and that
 * nobody frees: what every exported figure can be checked with. */
#include <pthread.h>
#include <stdlib.h>

#define THREADS 3
#define ROUNDS 500

__attribute__((noinline)) static void *make(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) static void nasty_name_0123456789(size_t size)
{
	void *volatile lost = make(size);

	(void)lost;
}

static void *work(void *argument)
{
	size_t number = (size_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		void *block = make(100 + number);

		if (i % 10)
			free(block);
	}
	nasty_name_0123456789(777);
	return make(5000);
}

int main(void)
{
	pthread_t threads[THREADS];
	char *block = NULL;

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (size_t i = 0; i < THREADS; i++) {
		void *given;

		pthread_join(threads[i], &given);
		free(given);
	}
	for (int i = 1; i <= 20; i++)
		block = realloc(block, (size_t)i * 1000);
	for (int i = 0; i < 10; i++)
		free(malloc(0));
	return block == NULL;
}
