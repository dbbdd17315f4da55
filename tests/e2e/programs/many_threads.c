/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* many_threads COUNT: that many short-lived threads, eight at a time, each with a name, each
 * allocating 100 blocks in thread_work and freeing 99; every second one ends with pthread_exit,
 * some are detached. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "say.h"

static sem_t ended;
static _Atomic long made;

static NOINLINE void thread_work(void)
{
	void *blocks[100];

	for (int i = 0; i < 100; i++)
		blocks[i] = HIDE(malloc(333));
	for (int i = 1; i < 100; i++)
		free(blocks[i]);
	made += 100;
}

static void *run(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	char name[16];

	snprintf(name, sizeof(name), "worker-%lu", number);
	pthread_setname_np(pthread_self(), name);
	thread_work();
	if (number % 4 == 3)
		sem_post(&ended);
	if (number % 2)
		pthread_exit(NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	uintptr_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	pthread_t ids[8];

	sem_init(&ended, 0, 0);
	for (uintptr_t i = 0; i < count; i += 8) {
		for (uintptr_t j = 0; j < 8; j++) {
			if (pthread_create(&ids[j], NULL, run, (void *)(i + j)))
				fail("pthread_create");
			if (j % 4 == 3)
				pthread_detach(ids[j]);
		}
		for (uintptr_t j = 0; j < 8; j++)
			if (j % 4 != 3)
				pthread_join(ids[j], NULL);
			else
				sem_wait(&ended);
	}
	say("%ld blocks\n", made);
	return 0;
}
