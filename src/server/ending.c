/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bounded waits.  See ending.h. */
#include "server/ending.h"

#include <stddef.h>

struct timespec ending_deadline(unsigned ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

bool ending_join(pthread_t thread, const struct timespec *deadline)
{
	if (deadline)
		return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, deadline);
	return !pthread_join(thread, NULL);
}

unsigned ending_join_all(pthread_t *threads, unsigned count, const struct timespec *deadline)
{
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++)
		if (!ending_join(threads[i], deadline))
			threads[left++] = threads[i];
	return left;
}

bool ending_wait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *deadline)
{
	if (deadline)
		return !pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, deadline);
	return !pthread_cond_wait(condition, lock);
}
