/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Realloc chains.  See chains.h.  `previous` is always a smaller row, so one pass upwards meets
 * every chain from its first row on; most rows are in none, and are filled on all cores. */
#include "model/chains.h"

#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/model.h"

#define BLOCK (1u << 18)
#define CHAINS_FIRST 1024u

static void fill(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct columns *c = context;

	for (uint64_t i = first; i < first + count; i++) {
		c->chain[i] = NO_CHAIN;
		c->position[i] = 0;
	}
}

static uint32_t start_chain(struct model *m, uint32_t first)
{
	if (m->chain_count == m->chain_room) {
		uint32_t room = m->chain_room ? m->chain_room * 2 : CHAINS_FIRST;

		m->chains = pages_grow(m->chains, m->chain_room * sizeof(*m->chains),
				       room * sizeof(*m->chains));
		m->chain_room = room;
	}
	m->chains[m->chain_count] = (struct chain){ .first = first, .last = first, .length = 1 };
	m->allocations.chain[first] = m->chain_count;
	return m->chain_count++;
}

static void append(struct model *m, uint32_t row)
{
	struct columns *c = &m->allocations;
	uint32_t before = c->previous[row], id = c->chain[before];

	if (id == NO_CHAIN)
		id = start_chain(m, before);
	/* Only one row can follow another; were there a second, it would not belong here. */
	if (m->chains[id].last != before)
		return;
	c->chain[row] = id;
	c->position[row] = m->chains[id].length++;
	m->chains[id].last = row;
}

void chains_build(struct model *m)
{
	struct columns *c = &m->allocations;

	parallel_for(c->count, BLOCK, fill, c);
	m->chain_count = 0;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->previous[i] != NO_ALLOCATION)
			append(m, i);
}

void chains_release(struct model *m)
{
	pages_free(m->chains, m->chain_room * sizeof(*m->chains));
	m->chains = NULL;
	m->chain_count = m->chain_room = 0;
}
