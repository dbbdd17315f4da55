/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Realloc chains.  See chains.h.  `previous` is always a smaller row, so one pass upwards meets
 * every chain from its first row on; most rows are in none, and are filled on all cores. */
#include "model/chains.h"

#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/model.h"

#define BLOCK (1u << 18)

struct filling {
	struct columns *columns;
	_Atomic uint32_t linked; /* rows that realloc made of others */
};

static void fill_chains(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct filling *f = context;
	struct columns *c = f->columns;
	uint32_t linked = 0;

	for (uint64_t i = first; i < first + count; i++) {
		c->plain.chain[i] = NO_CHAIN;
		c->plain.position[i] = 0;
		linked += columns_previous(c, i) != NO_ALLOCATION;
	}
	f->linked += linked;
}

/* There are no more chains than links; where the rows are in a file, the chains are there too. */
static void make_room(struct model *m, uint32_t count)
{
	size_t size = count * sizeof(*m->chains);

	chains_release(m);
	if (!count)
		return;
	m->chains = columns_section(&m->allocations, size, &m->chains_offset);
	if (!m->chains)
		m->chains = pages_grow(NULL, 0, size);
	m->chain_room = count;
}

static uint32_t start_chain(struct model *m, uint32_t first)
{
	m->chains[m->chain_count] = (struct chain){ .first = first, .last = first, .length = 1 };
	m->allocations.plain.chain[first] = m->chain_count;
	return m->chain_count++;
}

static void append(struct model *m, uint32_t row)
{
	struct columns *c = &m->allocations;
	uint32_t before = columns_previous(c, row), id = columns_chain(c, before);

	if (id == NO_CHAIN)
		id = start_chain(m, before);
	/* Only one row can follow another; were there a second, it would not belong here. */
	if (m->chains[id].last != before)
		return;
	c->plain.chain[row] = id;
	c->plain.position[row] = m->chains[id].length++;
	m->chains[id].last = row;
}

void chains_build(struct model *m)
{
	struct columns *c = &m->allocations;
	struct filling f = { .columns = c };

	parallel_whole(); /* a part of the recording, as it is read */
	parallel_for(c->count, BLOCK, fill_chains, &f);
	make_room(m, f.linked);
	for (uint32_t i = 0; i < c->count; i++)
		if (columns_previous(c, i) != NO_ALLOCATION)
			append(m, i);
}

void chains_release(struct model *m)
{
	pages_free(m->chains, m->chain_room * sizeof(*m->chains));
	m->chains = NULL;
	m->chain_count = m->chain_room = 0;
	m->chains_offset = 0;
}
