/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Wrappers found by shape.  See wrappers.h. */
#include "query/wrappers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "model/stats.h"

#define ROUNDS 4      /* wrappers around wrappers */
#define CALLERS_MIN 6 /* that get most of their memory through it */
#define SIZES_MIN 4
#define SITES_MAX 3 /* calls of the allocator inside it */
/* One that few call, but that much of the program gets its memory through: the innermost of several
 * wrappers. */
#define STACKS_MIN 20
#define REACH_MIN 12 /* different functions within so many frames outside it */
#define REACH_FRAMES 4
#define STACKS_SHARE 4 /* of all stacks, one in so many */
/* A name with "alloc" in it needs less to be believed. */
#define NAMED_CALLERS_MIN 2
#define NAMED_SIZES_MIN 2

/* What was seen of a function that may be one. */
struct suspect {
	uint32_t unit;
	uint32_t callers, faithful; /* different ones; those that get most through it */
	uint64_t count;		    /* allocations */
	uint32_t stacks, reach;
	uint64_t apart; /* those that have something else between it and the allocator */
	uint64_t sizes[SIZES_MIN];
	unsigned size_count;
	uint32_t sites[SITES_MAX + 1];
	unsigned site_count;
};

/* A function and one that calls it. */
struct call_pair {
	uint32_t suspect, caller;
	uint64_t count;
};

struct wrapper_search {
	struct responsible *r;
	struct map suspect_of; /* unit to position */
	struct suspect *suspects;
	size_t suspect_count, suspect_room;
	struct map pair_of;
	struct call_pair *pairs;
	size_t pair_count, pair_room;
	struct map reached; /* suspect and unit that is near it outwards */
	uint32_t stacks;    /* whose responsible frame is the program's */
	struct map
		count_of; /* unit to allocations that it makes, itself or right through another */
};

static struct suspect *suspect_of(struct wrapper_search *s, uint32_t unit)
{
	uint64_t at;

	if (map_get(&s->suspect_of, unit, &at))
		return &s->suspects[at];
	map_set(&s->suspect_of, unit, s->suspect_count);
	s->suspects = xgrow(s->suspects, s->suspect_count, &s->suspect_room, sizeof(*s->suspects));
	s->suspects[s->suspect_count] = (struct suspect){ .unit = unit };
	return &s->suspects[s->suspect_count++];
}

static void add_pair(struct wrapper_search *s, uint32_t suspect, uint32_t caller, uint64_t count)
{
	uint64_t key = (uint64_t)suspect << 32 | caller, at;

	if (!map_get(&s->pair_of, key, &at)) {
		at = s->pair_count;
		map_set(&s->pair_of, key, at);
		s->pairs = xgrow(s->pairs, s->pair_count, &s->pair_room, sizeof(*s->pairs));
		s->pairs[s->pair_count++] = (struct call_pair){ suspect, caller, 0 };
	}
	s->pairs[at].count += count;
}

static void add_count(struct wrapper_search *s, uint32_t unit, uint64_t count)
{
	uint64_t before = 0;

	map_get(&s->count_of, unit, &before);
	map_set(&s->count_of, unit, before + count);
}

static void add_size(struct suspect *u, uint64_t size)
{
	for (unsigned i = 0; i < u->size_count; i++)
		if (u->sizes[i] == size)
			return;
	if (u->size_count < SIZES_MIN)
		u->sizes[u->size_count++] = size;
}

static void add_site(struct suspect *u, uint32_t location)
{
	for (unsigned i = 0; i < u->site_count; i++)
		if (u->sites[i] == location)
			return;
	if (u->site_count <= SITES_MAX)
		u->sites[u->site_count++] = location;
}

/* The next function outwards from a frame; false at the end of the stack. */
static bool find_caller(const struct responsible *r, uint32_t node,
			const struct responsible_frame *inner, uint32_t unit, uint32_t *ret_caller)
{
	const struct nodes *nodes = &r->model->tables.nodes;
	struct responsible_frame f = *inner;

	f.index++;
	for (uint32_t id = node; node_is_known(nodes, id); id = nodes->parent[id], f.index = 0) {
		unsigned count;

		f.location = locations_of_node(r->locations, id);
		locations_frames(r->locations, f.location, &count);
		for (; f.index < count; f.index++) {
			*ret_caller = responsible_unit(r, &f);
			if (*ret_caller != unit)
				return responsible_kind(r, f.location, f.index) != FRAME_START;
		}
	}
	return false;
}

/* Functions near a suspect, outwards from its frame. */
static void add_reach(struct wrapper_search *s, uint32_t suspect, uint32_t node)
{
	const struct responsible *r = s->r;
	const struct nodes *nodes = &r->model->tables.nodes;
	struct responsible_frame f = { 0 };

	node = nodes->parent[node];
	for (unsigned n = 0; n < REACH_FRAMES && node_is_known(nodes, node);
	     n++, node = nodes->parent[node]) {
		uint64_t key, seen;

		if (s->suspects[suspect].reach >= REACH_MIN)
			return;
		f.location = locations_of_node(r->locations, node);
		key = (uint64_t)suspect << 32 | responsible_unit(r, &f);
		if (map_get(&s->reached, key, &seen))
			continue;
		map_set(&s->reached, key, 1);
		s->suspects[suspect].reach++;
	}
}

/* Is there nothing but allocator and wrappers between a stack's end and its responsible frame,
 * which is in the node that is returned? */
static uint32_t node_of_responsible(const struct responsible *r, uint32_t stack,
				    const struct responsible_frame *at, bool *ret_direct)
{
	const struct nodes *nodes = &r->model->tables.nodes;
	uint32_t id = stack;

	*ret_direct = true;
	for (;; id = nodes->parent[id]) {
		uint32_t location = locations_of_node(r->locations, id);
		unsigned count;

		locations_frames(r->locations, location, &count);
		if (location == at->location)
			count = at->index;
		for (unsigned i = 0; i < count; i++)
			*ret_direct &= responsible_kind(r, location, i) <= FRAME_WRAPPER;
		if (location == at->location)
			return id;
	}
}

static void look_at_stack(struct wrapper_search *s, const struct summary_row *row)
{
	struct responsible_frame at;
	struct suspect *u;
	uint32_t unit, node, caller;
	bool direct;

	if (!responsible_find(s->r, row->stack, &at) || at.kind != FRAME_PROGRAM)
		return;
	unit = responsible_unit(s->r, &at);
	u = suspect_of(s, unit);
	node = node_of_responsible(s->r, row->stack, &at, &direct);
	s->stacks++;
	u->stacks++;
	u->count += row->sums.count;
	if (!direct)
		u->apart += row->sums.count;
	add_size(u, row->sums.min_size);
	add_size(u, row->sums.max_size);
	add_site(u, at.location);
	add_count(s, unit, row->sums.count);
	add_reach(s, (uint32_t)(u - s->suspects), node);
	if (!find_caller(s->r, node, &at, unit, &caller))
		return;
	add_count(s, caller, row->sums.count);
	add_pair(s, (uint32_t)(u - s->suspects), caller, row->sums.count);
}

static void count_callers(struct wrapper_search *s)
{
	for (size_t i = 0; i < s->pair_count; i++) {
		const struct call_pair *p = &s->pairs[i];
		uint64_t all = 0;

		map_get(&s->count_of, p->caller, &all);
		s->suspects[p->suspect].callers++;
		s->suspects[p->suspect].faithful += p->count * 2 >= all;
	}
}

static bool is_named_so(const struct responsible *r, uint32_t unit)
{
	const char *name = locations_string(r->locations, responsible_unit_function(r, unit));

	return strcasestr(name, "alloc") || strcasestr(name, "strdup") ||
	       strcasestr(name, "memdup");
}

static bool is_wrapper(const struct wrapper_search *s, const struct suspect *u)
{
	bool named = is_named_so(s->r, u->unit);
	const char *name =
		locations_string(s->r->locations, responsible_unit_function(s->r, u->unit));

	if (!strcmp(name, "main") || u->apart * 20 > u->count || u->site_count > SITES_MAX ||
	    u->size_count < (named ? NAMED_SIZES_MIN : SIZES_MIN))
		return false;
	if (u->stacks >= STACKS_MIN && u->reach >= REACH_MIN &&
	    (uint64_t)u->stacks * STACKS_SHARE >= s->stacks)
		return true;
	return u->faithful * 2 >= u->callers &&
	       u->faithful >= (named ? NAMED_CALLERS_MIN : CALLERS_MIN);
}

/* Every frame of a function that was found, wherever it is. */
static void mark_wrappers(struct responsible *r, const uint8_t *is)
{
	for (uint32_t i = 0; i < locations_count(r->locations); i++) {
		struct responsible_frame f = { .location = i };
		uint32_t first = locations_at(r->locations, i)->first_frame;
		unsigned count;

		locations_frames(r->locations, i, &count);
		for (; f.index < count; f.index++)
			if (is[responsible_unit(r, &f)])
				r->kinds[first + f.index] = FRAME_WRAPPER;
	}
}

static bool find_more(struct responsible *r)
{
	const struct summary *sum = model_summary(r->model);
	struct wrapper_search s = { .r = r };
	auto_free uint8_t *is = xcalloc(responsible_units(r), 1);
	bool found = false;

	for (uint32_t i = 0; i < sum->count; i++)
		look_at_stack(&s, &sum->rows[i]);
	count_callers(&s);
	for (size_t i = 0; i < s.suspect_count; i++)
		if (is_wrapper(&s, &s.suspects[i])) {
			is[s.suspects[i].unit] = 1;
			found = true;
		}
	if (found)
		mark_wrappers(r, is);
	map_release(&s.suspect_of);
	map_release(&s.pair_of);
	map_release(&s.reached);
	map_release(&s.count_of);
	free(s.suspects);
	free(s.pairs);
	return found;
}

void wrappers_find(struct responsible *r)
{
	for (unsigned i = 0; i < ROUNDS && find_more(r); i++)
		responsible_choose(r);
}
