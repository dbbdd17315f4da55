/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* At most so many at a time compute: a worker that has to wait for a client gives its slot back
 * meanwhile. */
#include <pthread.h>

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t free_slot;
	unsigned left;
};

void gate_init(struct gate *g, unsigned slots);
void gate_release(struct gate *g);
void gate_enter(struct gate *g);
void gate_leave(struct gate *g);
