/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many compute at once.  See gate.h. */
#include "server/gate.h"

#include "base/hold_lock.h"

void gate_init(struct gate *g, unsigned slots)
{
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->free_slot, NULL);
	g->left = slots ? slots : 1;
}

void gate_release(struct gate *g)
{
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->free_slot);
}

void gate_enter(struct gate *g)
{
	hold_lock(&g->lock);
	while (!g->left)
		pthread_cond_wait(&g->free_slot, &g->lock);
	g->left--;
}

void gate_leave(struct gate *g)
{
	hold_lock(&g->lock);
	g->left++;
	pthread_cond_signal(&g->free_slot);
}
