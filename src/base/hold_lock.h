/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A mutex that is held from here to the end of the block, however that is left:
 *
 *	hold_lock(&l->lock);
 *	return l->count;
 */
#include <pthread.h>

static inline pthread_mutex_t *hold_lock_begin(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

static inline void hold_lock_end(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define hold_lock(lock)                                                                            \
	__attribute__((cleanup(hold_lock_end), unused)) pthread_mutex_t *held_lock =               \
		hold_lock_begin(lock)
