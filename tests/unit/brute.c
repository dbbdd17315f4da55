/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The simple way.  See brute.h. */
#include "brute.h"

#include <stdlib.h>

void brute_init(struct brute *b, const struct model *m, struct locations *p)
{
	*b = (struct brute){ m, p, model_clock(m), m->allocations.count, NULL };
	b->next = calloc(b->count + 1, sizeof(*b->next));
	for (uint32_t i = 0; i < b->count; i++)
		b->next[i] = NO_ALLOCATION;
	for (uint32_t i = 0; i < b->count; i++)
		if (columns_previous(&m->allocations, i) != NO_ALLOCATION)
			b->next[columns_previous(&m->allocations, i)] = i;
}

void brute_release(struct brute *b)
{
	free(b->next);
}

static uint32_t known(const struct brute *b, uint32_t stack)
{
	const struct nodes *n = &b->m->tables.nodes;

	return stack < n->count && n->frame[stack] ? stack : 0;
}

uint32_t brute_stack(const struct brute *b, uint32_t row)
{
	return known(b, columns_stack(&b->m->allocations, row));
}

uint32_t brute_free_stack(const struct brute *b, uint32_t row)
{
	return known(b, columns_free_stack(&b->m->allocations, row));
}

bool brute_leaked(const struct brute *b, uint32_t row)
{
	return columns_freed_at(&b->m->allocations, row) == NEVER;
}

bool brute_freed_by_someone(const struct brute *b, uint32_t row)
{
	return !brute_leaked(b, row) &&
	       !(tags_flags(columns_tags(&b->m->allocations, row)) & TAG_FREE_LOST);
}

uint32_t brute_chain_first(const struct brute *b, uint32_t row)
{
	while (columns_previous(&b->m->allocations, row) != NO_ALLOCATION)
		row = columns_previous(&b->m->allocations, row);
	return row;
}

uint32_t brute_chain_last(const struct brute *b, uint32_t row)
{
	while (b->next[row] != NO_ALLOCATION)
		row = b->next[row];
	return row;
}

uint64_t brute_position(const struct brute *b, uint32_t row)
{
	uint64_t n = 0;

	for (; columns_previous(&b->m->allocations, row) != NO_ALLOCATION; n++)
		row = columns_previous(&b->m->allocations, row);
	return n;
}

uint64_t brute_chain_length(const struct brute *b, uint32_t row)
{
	return brute_position(b, brute_chain_last(b, row)) + 1;
}

uint64_t brute_ns(const struct brute *b, uint64_t stamp)
{
	return model_ns(b->m, stamp);
}

uint64_t brute_span_ns(const struct brute *b, uint64_t ticks)
{
	return (uint64_t)((double)ticks * b->clock.ns_per_tick);
}

static uint64_t end_of(const struct brute *b, uint32_t row)
{
	return brute_leaked(b, row) ? b->clock.end : columns_freed_at(&b->m->allocations, row);
}

uint64_t brute_lifetime_ticks(const struct brute *b, uint32_t row)
{
	return end_of(b, row) - columns_allocated_at(&b->m->allocations, row);
}

uint64_t brute_chain_lifetime_ticks(const struct brute *b, uint32_t row)
{
	return end_of(b, brute_chain_last(b, row)) -
	       columns_allocated_at(&b->m->allocations, brute_chain_first(b, row));
}

uint64_t brute_depth(const struct brute *b, uint32_t row)
{
	uint64_t depth = 0;

	for (uint32_t id = brute_stack(b, row); id; id = known(b, b->m->tables.nodes.parent[id]))
		depth++;
	return depth;
}

uint64_t brute_marker(const struct brute *b, uint32_t row)
{
	const struct markers *m = &b->m->tables.markers;
	uint64_t value = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->rows[i].stamp <= columns_allocated_at(&b->m->allocations, row))
			value = m->rows[i].value;
	return value;
}

static void include(struct brute_sums *s, uint64_t min, uint64_t max, uint64_t first, uint64_t last)
{
	if (!s->count || min < s->min)
		s->min = min;
	if (!s->count || max > s->max)
		s->max = max;
	if (!s->count || first < s->first)
		s->first = first;
	if (!s->count || last > s->last)
		s->last = last;
}

void brute_add(const struct brute *b, struct brute_sums *s, uint32_t row)
{
	const struct columns *c = &b->m->allocations;
	uint64_t size = columns_size(c, row), at = columns_allocated_at(c, row);

	include(s, size, size, at, at);
	s->count++;
	s->bytes += size;
	s->slack += columns_slack(c, row);
	s->leaked_count += brute_leaked(b, row);
	s->leaked_bytes += brute_leaked(b, row) ? size : 0;
}

static const struct statistics *removed(const struct brute *b, uint32_t stack)
{
	for (size_t i = 0; i < b->m->tables.removed.count; i++)
		if (b->m->tables.removed.rows[i].stack == stack)
			return &b->m->tables.removed.rows[i];
	return NULL;
}

struct brute_sums brute_group(const struct brute *b, uint32_t stack)
{
	const struct statistics *r = removed(b, stack);
	struct brute_sums s = { 0 };

	for (uint32_t i = 0; i < b->count; i++)
		if (brute_stack(b, i) == stack)
			brute_add(b, &s, i);
	if (r && r->count) {
		include(&s, r->min_size, r->max_size, r->first_at, r->last_at);
		s.count += r->count;
		s.bytes += r->bytes;
		s.slack += r->slack;
	}
	return s;
}

/* Alive right after each of its allocations? */
struct brute_peak brute_peak(const struct brute *b, uint32_t stack)
{
	const struct columns *c = &b->m->allocations;
	const struct statistics *r = removed(b, stack);
	struct brute_peak most = { 0 };

	if (r && r->own_peak_at)
		return (struct brute_peak){ r->own_peak_bytes, r->own_peak_count, r->own_peak_at };
	for (uint32_t i = 0; i < b->count; i++) {
		struct brute_peak here = { .at = columns_allocated_at(c, i) };

		if (brute_stack(b, i) != stack)
			continue;
		for (uint32_t k = 0; k < b->count; k++)
			if (brute_stack(b, k) == stack && columns_allocated_at(c, k) <= here.at &&
			    columns_freed_at(c, k) > here.at) {
				here.bytes += columns_size(c, k);
				here.count++;
			}
		if (!most.at || here.bytes > most.bytes)
			most = here;
	}
	return most;
}

bool brute_frames(const struct brute *b, uint32_t stack,
		  bool (*visit)(void *context, const char *function, const char *file,
				uint32_t line, uint32_t module),
		  void *context)
{
	for (uint32_t id = known(b, stack); id; id = known(b, b->m->tables.nodes.parent[id])) {
		uint32_t location = locations_of_node(b->p, id);
		const struct location *at = locations_at(b->p, location);
		unsigned count;
		const struct location_frame *f = locations_frames(b->p, location, &count);

		for (unsigned i = 0; i < count; i++)
			if (visit(context,
				  locations_string(b->p, f[i].function ? f[i].function
								       : f[i].raw_function),
				  locations_string(b->p, f[i].file), f[i].line, at->module))
				return true;
	}
	return false;
}
