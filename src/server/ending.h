/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Waiting for threads while the server ends: not longer than until a moment, so that it ends
 * whatever they do.  Where one has not ended by then, nothing that it may use is freed, and the
 * process is to end without it. */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* CLOCK_MONOTONIC, from now. */
struct timespec ending_deadline(unsigned ms);
/* Joins it: true.  False: the moment has come, and it still runs.  NULL: waits for ever. */
bool ending_join(pthread_t thread, const struct timespec *deadline);
/* The same of several; returns how many are left, which are the first ones then. */
unsigned ending_join_all(pthread_t *threads, unsigned count, const struct timespec *deadline);
/* The same for a condition: false if the moment has come.  With the lock held. */
bool ending_wait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *deadline);
