/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that are cancelled while they allocate: deferred cancellation must hit at the program's
 * own cancellation points only, and cleanup handlers run once. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "say.h"

static _Atomic long cleaned, passed;
static sem_t ready;

static void cleanup(void *argument)
{
	free(argument);
	cleaned++;
}

static NOINLINE void churn(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = HIDE(malloc((size_t)i % 300 + 1));

		p = HIDE(realloc(p, (size_t)i % 500 + 1));
		free(p);
	}
}

/* No cancellation point between the two: a pending cancellation waits for pthread_testcancel. */
static void *victim(void *argument)
{
	void *block = HIDE(malloc(100));

	pthread_cleanup_push(cleanup, block);
	sem_post(&ready);
	while (!atomic_load((_Atomic int *)argument))
		;
	churn(2000);
	passed++;
	pthread_testcancel();
	say("never\n");
	pthread_cleanup_pop(0);
	return NULL;
}

static void *sleeper(void *argument)
{
	pthread_cleanup_push(cleanup, HIDE(malloc(200)));
	sem_post(&ready);
	for (;;) {
		churn(100);
		usleep(100);
	}
	pthread_cleanup_pop(0);
	return argument;
}

int main(void)
{
	pthread_t thread;
	void *result;
	int cancelled = 0;

	sem_init(&ready, 0, 0);
	for (int i = 0; i < 200; i++) {
		_Atomic int go = 0;

		if (pthread_create(&thread, NULL, victim, &go))
			fail("pthread_create");
		sem_wait(&ready);
		pthread_cancel(thread);
		go = 1;
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	say("%d cancelled, %ld cleaned, %ld passed\n", cancelled, cleaned, passed);
	for (int i = 0; i < 100; i++) {
		if (pthread_create(&thread, NULL, sleeper, NULL))
			fail("pthread_create");
		sem_wait(&ready);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	say("%d cancelled, %ld cleaned\n", cancelled, cleaned);
	return 0;
}
