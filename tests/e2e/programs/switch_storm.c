/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* switch_storm MILLISECONDS: eight threads allocate, reallocate and free while recording is
 * switched on and off by signals from one thread and by calls from another.  Everything is freed
 * in the end.  Prints how many blocks were made and ended, reallocs as both. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "../../../include/memoir.h"
#include "say.h"

#define THREADS 8
#define SLOTS 64

static atomic_int over;
static _Atomic(void *) slots[SLOTS];
static _Atomic uint64_t made, ended;

static NOINLINE void *storm_malloc(size_t size)
{
	void *p = HIDE(malloc(size));

	KEEP(p);
	return p;
}

static NOINLINE void *storm_realloc(void *old, size_t size)
{
	void *p = HIDE(realloc(old, size));

	KEEP(p);
	return p;
}

static NOINLINE void storm_free(void *p)
{
	free(p);
	KEEP(p);
}

static void *work(void *argument)
{
	uint64_t state = (uintptr_t)argument, mine_made = 0, mine_ended = 0;

	while (!over) {
		uint32_t r = next_random(&state);
		void *p = atomic_exchange(&slots[r % SLOTS], NULL);

		if (!p) {
			p = storm_malloc(1 + r / 64 % 500);
			mine_made++;
		} else if (r & 1u << 20) {
			p = storm_realloc(p, 1 + r / 64 % 2000);
			mine_made++;
			mine_ended++;
		} else {
			storm_free(p);
			mine_ended++;
			continue;
		}
		p = atomic_exchange(&slots[r % SLOTS], p);
		if (p) {
			storm_free(p);
			mine_ended++;
		}
	}
	atomic_fetch_add(&made, mine_made);
	atomic_fetch_add(&ended, mine_ended);
	return NULL;
}

static void *send_signals(void *argument)
{
	for (uint64_t i = 0; !over; i++) {
		kill(getpid(), i % 3 ? SIGUSR1 : SIGUSR2);
		usleep(i % 7 * 20);
	}
	return NULL;
}

static void *call(void *argument)
{
	uint64_t state = 99;

	while (!over) {
		memoir_start();
		usleep(next_random(&state) % 100);
		memoir_stop();
		usleep(next_random(&state) % 100);
		memoir_set_marker(next_random(&state));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS + 2];
	struct timespec end;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1));
	pthread_create(&threads[THREADS], NULL, send_signals, NULL);
	pthread_create(&threads[THREADS + 1], NULL, call, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += atol(argv[1]) % 1000 * 1000000;
	end.tv_sec += atol(argv[1]) / 1000 + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
		; /* a signal came */
	over = 1;
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++) {
		void *p = slots[i];

		ended += p != NULL;
		storm_free(p);
	}
	say("{\"made\": %llu, \"ended\": %llu}\n", (unsigned long long)made,
	    (unsigned long long)ended);
	return made != ended;
}
