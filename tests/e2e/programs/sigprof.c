/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A profiling timer at 10 kHz whose handler looks at the stack like a CPU profiler does, while
 * four threads allocate.  The handler's work must be unharmed and the program end normally. */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "say.h"

static _Atomic long ticks, bad;

static void handler(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	void *frames[32];

	if (number != SIGPROF || !info || !context)
		bad++;
	if (backtrace(frames, 32) < 1)
		bad++;
	ticks++;
	errno = saved;
}

static NOINLINE void *work(int depth)
{
	void *p = HIDE(malloc((size_t)depth * 8 + 8));

	if (depth)
		free(work(depth - 1));
	KEEP(p);
	return p;
}

static void *run(void *argument)
{
	for (int i = 0; i < 5000 || ticks < 4000; i++) {
		errno = 55;
		free(work(10));
		if (errno != 55)
			bad++;
	}
	return argument;
}

int main(void)
{
	struct itimerspec every = { { 0, 100000 }, { 0, 100000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t threads[4];
	timer_t timer;
	void *frames[4];

	backtrace(frames, 4); /* loads libgcc_s outside the handler */
	sigaction(SIGPROF, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &every, NULL))
		fail("timer");
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			fail("pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	timer_delete(timer);
	say("ticked %d, bad %ld\n", ticks > 0, bad);
	return 0;
}
