/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who keeps which memory.  See blame.h.
 *
 * A block keeps the units inside it alone, and touches at most two more, at its ends: these are
 * pieces.  Workers find the pieces of rows and put them into buckets by unit; then buckets are
 * worked through, each unit's pieces together.  A piece that a worker has just seen is not noted
 * again: small blocks of one stack are often neighbours. */
#include "query/blame.h"

#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/seen_regions.h"
#include "query/allocator.h"
#include "query/residency.h"
#include "query/slab.h"

#define BUCKETS 256u
#define RECENT 1024u /* pieces that a worker remembers */
#define SCAN 65536u  /* rows at a time */
#define CALLS 128u
#define GLIBC_HEAD 8
#define GLIBC_MMAPPED_HEAD 16

const struct blame_unit_row blame_units[BLAME_UNITS] = {
	[BLAME_PAGE] = { "page", 12, "page", "pages" },
	[BLAME_64K] = { "64k", 16, "region of 64 KiB", "regions of 64 KiB" },
	[BLAME_2M] = { "2m", 21, "region of 2 MiB", "regions of 2 MiB" },
	[BLAME_SLAB] = { "slab", SLAB_PAGE_SHIFT, "slab or page", "slabs and pages" },
};

enum piece_flags {
	PIECE_OLD = 1,	 /* its block was there when the maps were looked at before … */
	PIECE_STAYS = 2, /* … and after the moment */
};

struct piece {
	uint64_t start; /* of the unit */
	uint32_t key;	/* the holder; those of blocks outside the view follow */
	uint16_t pages, flags;
};

struct pieces {
	struct piece *rows;
	size_t count, room;
};

struct worker {
	struct pieces buckets[BUCKETS];
	struct piece recent[RECENT];
	struct blamed *blamed;	       /* by key */
	uint32_t *met_in, met;	       /* by key: the unit that it was met in last */
	struct residency_run known[2]; /* the map that was marked last, of both samples */
	uint64_t resident, units;
};

/* A sample of the maps, and which of those have blocks. */
struct sample {
	struct residency residency;
	bool there;
	_Atomic uint8_t *has_blocks; /* by map */
};

struct blaming {
	const struct view *v;
	const struct blame_options *o;
	const struct summary *summary;
	uint32_t keys;
	bool glibc, jemalloc_calls[CALLS], jemalloc_inside;
	struct sample before, after;
	struct worker *workers;
};

bool blame_has_slabs(const struct model *m)
{
	const char *allocator = model_info(m, "allocator");

	return allocator && strstr(allocator, "jemalloc");
}

enum blame_unit blame_usual_unit(const struct model *m)
{
	return allocator_is_jemalloc(m, "") ? BLAME_SLAB : BLAME_PAGE;
}

uint64_t blame_moment(const struct model *m)
{
	const struct regions *seen = &m->tables.regions;

	return seen->sample_count ? seen->samples[seen->sample_count - 1].ended
				  : model_clock(m).end;
}

static bool is_jemallocs(const struct blaming *g, uint64_t tags)
{
	if (flags_are_inside(tags_flags(tags)))
		return g->jemalloc_inside;
	return g->jemalloc_calls[tags_call(tags)];
}

static unsigned head_of(const struct blaming *g, uint64_t tags)
{
	unsigned flags = tags_flags(tags);

	if (!g->glibc || flags_are_inside(flags))
		return 0;
	return flags & TAG_MMAPPED ? GLIBC_MMAPPED_HEAD : GLIBC_HEAD;
}

/* --- What is resident */

static bool covers(const struct sample *l, uint64_t start, uint64_t end)
{
	const struct residency *r = &l->residency;
	size_t i = FIRST_WHERE(k, r->map_count, r->maps[k].end > start);

	return l->there && i < r->map_count && r->maps[i].start < end;
}

/* Of the maps that have blocks: what else is in 2 MiB, nobody's block keeps. */
static uint64_t bytes_at(const struct blaming *g, const struct sample *l, uint64_t start,
			 uint64_t end)
{
	const struct residency *r = &l->residency;
	uint64_t sum = 0;

	if (g->o->unit != BLAME_64K && g->o->unit != BLAME_2M)
		return residency_in(r, start, end);
	for (size_t i = FIRST_WHERE(k, r->map_count, r->maps[k].end > start);
	     i < r->map_count && r->maps[i].start < end; i++)
		if (l->has_blocks[i])
			sum += residency_in(r, MAX(start, r->maps[i].start),
					    MIN(end, r->maps[i].end));
	return sum;
}

/* `size`: of each unit in it. */
static uint64_t resident(const struct blaming *g, uint64_t start, uint64_t end, uint64_t size,
			 unsigned flags)
{
	uint64_t at = g->o->at;
	bool before = covers(&g->before, start, end), after = covers(&g->after, start, end);
	bool can_tell = (before && flags & PIECE_OLD) || (after && flags & PIECE_STAYS);

	if (can_tell) {
		before &= (flags & PIECE_OLD) != 0;
		after &= (flags & PIECE_STAYS) != 0;
	} else if (size == RESIDENCY_PAGE) {
		return end - start; /* a block that came and goes was written to */
	}
	if (before && after)
		after = g->after.residency.at - at < at - g->before.residency.at;
	if (after)
		return bytes_at(g, &g->after, start, end);
	return before ? bytes_at(g, &g->before, start, end) : end - start;
}

/* Is all of it in one map, or none of it in any?  Then it can be asked for at once. */
static bool is_even(const struct sample *l, uint64_t start, uint64_t end)
{
	size_t map;

	if (!covers(l, start, end))
		return true;
	map = residency_map(&l->residency, start);
	return map != SIZE_MAX && l->residency.maps[map].end >= end;
}

/* Of units one behind the other. */
static uint64_t resident_units(const struct blaming *g, uint64_t start, uint64_t end,
			       unsigned flags)
{
	uint64_t size = 1ull << blame_units[g->o->unit].shift, sum = 0;

	if (is_even(&g->before, start, end) && is_even(&g->after, start, end))
		return resident(g, start, end, size, flags);
	for (; start < end; start += size)
		sum += resident(g, start, start + size, size, flags);
	return sum;
}

/* The maps that a block is in. */
static void mark_maps(struct worker *w, unsigned n, struct sample *l, uint64_t start, uint64_t end)
{
	const struct residency *r = &l->residency;

	if (!l->there || (w->known[n].start <= start && end <= w->known[n].end))
		return;
	for (size_t i = FIRST_WHERE(k, r->map_count, r->maps[k].end > start);
	     i < r->map_count && r->maps[i].start < end; i++) {
		w->known[n] = r->maps[i];
		atomic_store_explicit(&l->has_blocks[i], 1, memory_order_relaxed);
	}
}

static void take_sample(struct blaming *g, struct sample *l, struct seen_regions *seen,
			size_t sample)
{
	if (sample >= seen->from->sample_count)
		return;
	seen_regions_advance(seen, sample);
	residency_init(&l->residency, seen);
	l->there = true;
	l->has_blocks = xcalloc(l->residency.map_count + 1, sizeof(*l->has_blocks));
}

static void find_samples(struct blaming *g)
{
	const struct regions *from = &g->v->model->tables.regions;
	struct seen_regions seen;
	size_t next = FIRST_WHERE(i, from->sample_count, from->samples[i].ended > g->o->at);

	seen_regions_init(&seen, from);
	if (next)
		take_sample(g, &g->before, &seen, next - 1);
	take_sample(g, &g->after, &seen, next);
	seen_regions_release(&seen);
}

/* --- Blocks */

static void keep_alone(struct worker *w, uint32_t key, uint64_t bytes, uint64_t units)
{
	w->blamed[key].alone += bytes;
	w->blamed[key].alone_units += units;
	w->resident += bytes;
	w->units += units;
}

static void add_piece(struct worker *w, struct piece p)
{
	uint64_t hash =
		(p.start >> RESIDENCY_SHIFT ^ (uint64_t)p.key << 40) * 0x9e3779b97f4a7c15ull;
	struct piece *last = &w->recent[hash >> 32 & (RECENT - 1)];
	struct pieces *to;

	if (last->start == p.start && last->key == p.key && last->pages == p.pages &&
	    last->flags == p.flags)
		return;
	*last = p;
	to = &w->buckets[(p.start >> RESIDENCY_SHIFT) * 0x9e3779b97f4a7c15ull >> 56];
	*xpush(to->rows, to->count, to->room) = p;
}

/* Pages that nobody else can have: those of a large block of jemalloc's. */
static void add_extent(const struct blaming *g, struct worker *w, uint64_t start, uint64_t end,
		       struct piece p)
{
	start &= ~(uint64_t)(RESIDENCY_PAGE - 1);
	end = (end + RESIDENCY_PAGE - 1) & ~(uint64_t)(RESIDENCY_PAGE - 1);
	keep_alone(w, p.key, resident_units(g, start, end, p.flags),
		   (end - start) / RESIDENCY_PAGE);
}

static void add_range(const struct blaming *g, struct worker *w, uint64_t start, uint64_t end,
		      struct piece p)
{
	unsigned shift = blame_units[g->o->unit].shift;
	uint64_t first = start >> shift, last = (end - 1) >> shift;

	p.pages = (uint16_t)(1u << (shift - RESIDENCY_SHIFT));
	p.start = first << shift;
	add_piece(w, p);
	if (last == first)
		return;
	p.start = last << shift;
	add_piece(w, p);
	if (last - first > 1)
		keep_alone(w, p.key,
			   resident_units(g, (first + 1) << shift, last << shift, p.flags),
			   last - first - 1);
}

static void add_block(struct blaming *g, struct worker *w, uint32_t row, uint32_t key)
{
	const struct columns *c = &g->v->model->allocations;
	uint64_t usable = columns_size(c, row) + columns_slack_of(c, row);
	uint64_t start = columns_address(c, row), end = start + MAX(usable, 1);
	unsigned head = head_of(g, columns_tags(c, row));
	struct piece p = { .key = key };
	struct slab slab;

	if (start >= REGION_ADDRESS_MAX || end > REGION_ADDRESS_MAX)
		return;
	start -= MIN(start, head);
	if (g->before.there && columns_allocated_at(c, row) <= g->before.residency.at)
		p.flags |= PIECE_OLD;
	if (g->after.there && columns_freed_at(c, row) > g->after.residency.at)
		p.flags |= PIECE_STAYS;
	if (g->o->unit == BLAME_64K || g->o->unit == BLAME_2M) {
		mark_maps(w, 0, &g->before, start, end);
		mark_maps(w, 1, &g->after, start, end);
	}
	if (g->o->unit != BLAME_SLAB || !is_jemallocs(g, columns_tags(c, row))) {
		add_range(g, w, start, end, p);
	} else if (slab_find(start, usable, &slab)) {
		p.start = slab.start;
		p.pages = (uint16_t)slab.pages;
		add_piece(w, p);
	} else if (usable > SLAB_SMALL_MAX) {
		add_extent(g, w, start, end, p);
	} else {
		add_range(g, w, start, end, p);
	}
}

static void count_block(struct blamed *k, const struct columns *c, uint32_t row)
{
	uint64_t size = columns_size(c, row), at = columns_allocated_at(c, row);

	if (!k->live.count || at < k->first)
		k->first = at;
	k->last = MAX(k->last, at);
	k->live.bytes += size;
	k->live.count++;
	k->usable += size + columns_slack_of(c, row);
}

static uint32_t holder_of(const struct blaming *g, const struct columns *c, uint32_t row)
{
	uint32_t stack = summary_row_of(g->summary, columns_stack(c, row));
	uint64_t holder = 0;

	if (!g->o->by_thread)
		return g->o->holder_of ? g->o->holder_of[stack] : stack;
	map_get(g->o->by_thread, (uint64_t)tags_thread(columns_tags(c, row)) << 32 | stack,
		&holder);
	return (uint32_t)holder;
}

static void find_pieces(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct blaming *g = context;
	const struct columns *c = &g->v->model->allocations;
	struct worker *w = &g->workers[worker];

	if (!w->blamed)
		w->blamed = pages_grow(NULL, 0, g->keys * sizeof(*w->blamed));
	for (uint32_t row = (uint32_t)first; row < first + count; row++) {
		uint32_t key;

		if (columns_freed_at(c, row) <= g->o->at)
			continue;
		key = holder_of(g, c, row);
		if (!view_has(g->v, row))
			key += g->o->holders;
		count_block(&w->blamed[key], c, row);
		add_block(g, w, row, key);
	}
}

/* --- Units */

/* The pieces of one bucket, put together by unit. */
struct bucket {
	struct map numbers; /* by start and pages */
	struct unit {
		uint64_t start;
		uint32_t pieces, flags, pages, at; /* `at`: of keys */
	} * units;
	size_t count, room;
	uint32_t *unit_of; /* by piece */
	uint32_t *keys;	   /* by unit */
};

static size_t pieces_in(const struct blaming *g, uint64_t bucket)
{
	size_t sum = 0;

	for (unsigned i = 0; i < parallel_workers(); i++)
		sum += g->workers[i].buckets[bucket].count;
	return sum;
}

static void number_units(struct bucket *b, const struct pieces *from, size_t done)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct piece *p = &from->rows[i];
		uint64_t number;

		if (map_number(&b->numbers, p->start | p->pages, &number))
			*xpush(b->units, b->count, b->room) =
				(struct unit){ .start = p->start, .pages = p->pages };
		b->units[number].pieces++;
		b->units[number].flags |= p->flags;
		b->unit_of[done + i] = (uint32_t)number;
	}
}

static void sort_pieces(struct bucket *b, const struct blaming *g, uint64_t number)
{
	uint32_t at = 0;
	size_t done = 0;

	for (size_t i = 0; i < b->count; i++) {
		b->units[i].at = at;
		at += b->units[i].pieces;
	}
	for (unsigned i = 0; i < parallel_workers(); i++) {
		const struct pieces *from = &g->workers[i].buckets[number];

		for (size_t k = 0; k < from->count; k++)
			b->keys[b->units[b->unit_of[done + k]].at++] = from->rows[k].key;
		done += from->count;
	}
}

ORDER(by_number, uint32_t, COMPARE(*x, *y))

/* A unit with everybody who is in it; `keys` may be put in order. */
static void share_out(const struct blaming *g, struct worker *w, const struct unit *u,
		      uint32_t *keys)
{
	uint64_t size = (uint64_t)u->pages * RESIDENCY_PAGE;
	uint64_t bytes = resident(g, u->start, u->start + size, size, u->flags);
	uint32_t holders = 0;

	w->met++;
	for (uint32_t i = 0; i < u->pieces; i++) {
		if (w->met_in[keys[i]] == w->met)
			continue;
		w->met_in[keys[i]] = w->met;
		keys[holders++] = keys[i];
	}
	if (holders == 1) {
		keep_alone(w, keys[0], bytes, 1);
		return;
	}
	w->resident += bytes;
	w->units++;
	/* What is left over goes to the first ones, whoever came first. */
	if (bytes % holders)
		SORT(keys, holders, by_number);
	for (uint32_t i = 0; i < holders; i++) {
		w->blamed[keys[i]].shared += bytes / holders + (i < bytes % holders);
		w->blamed[keys[i]].shared_units++;
	}
}

static void work_through(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct blaming *g = context;
	struct worker *w = &g->workers[worker];

	if (!w->blamed)
		w->blamed = pages_grow(NULL, 0, g->keys * sizeof(*w->blamed));
	if (!w->met_in)
		w->met_in = xcalloc(g->keys, sizeof(*w->met_in));
	for (uint64_t i = first; i < first + count; i++) {
		size_t pieces = pieces_in(g, i), done = 0;
		struct bucket b = { 0 };

		b.unit_of = xcalloc(pieces + 1, sizeof(*b.unit_of));
		b.keys = xcalloc(pieces + 1, sizeof(*b.keys));
		for (unsigned k = 0; k < parallel_workers(); k++) {
			number_units(&b, &g->workers[k].buckets[i], done);
			done += g->workers[k].buckets[i].count;
		}
		sort_pieces(&b, g, i);
		for (size_t k = 0; k < b.count; k++)
			share_out(g, w, &b.units[k], &b.keys[b.units[k].at - b.units[k].pieces]);
		map_release(&b.numbers);
		free(b.units);
		free(b.unit_of);
		free(b.keys);
	}
}

/* --- All together */

static void blamed_add(struct blamed *to, const struct blamed *from)
{
	if (from->live.count && (!to->live.count || from->first < to->first))
		to->first = from->first;
	to->last = MAX(to->last, from->last);
	weight_add(&to->live, &from->live);
	to->usable += from->usable;
	to->alone += from->alone;
	to->shared += from->shared;
	to->alone_units += from->alone_units;
	to->shared_units += from->shared_units;
}

static void gather(struct blaming *g, struct blame *b)
{
	uint32_t holders = g->o->holders;

	b->holders = xcalloc((size_t)holders + 1, sizeof(*b->holders));
	b->holder_count = holders;
	for (unsigned i = 0; i < parallel_workers(); i++) {
		struct worker *w = &g->workers[i];

		b->resident += w->resident;
		b->units += w->units;
		for (uint32_t k = 0; w->blamed && k < g->keys; k++)
			blamed_add(k < holders ? &b->holders[k] : &b->outside, &w->blamed[k]);
	}
	for (uint32_t k = 0; k < holders; k++)
		blamed_add(&b->total, &b->holders[k]);
}

static void blaming_release(struct blaming *g)
{
	for (unsigned i = 0; i < parallel_workers(); i++) {
		struct worker *w = &g->workers[i];

		for (unsigned k = 0; k < BUCKETS; k++)
			free(w->buckets[k].rows);
		if (w->blamed)
			pages_free(w->blamed, g->keys * sizeof(*w->blamed));
		free(w->met_in);
	}
	free(g->workers);
	free((void *)g->before.has_blocks);
	free((void *)g->after.has_blocks);
	residency_release(&g->before.residency);
	residency_release(&g->after.residency);
}

void blame_init(struct blame *b, const struct view *v, const struct blame_options *o)
{
	const struct model *m = v->model;
	struct blaming g = { .v = v,
			     .o = o,
			     .summary = model_summary(m),
			     .keys = o->holders * (v->bits ? 2 : 1),
			     .glibc = allocator_is_glibc(m),
			     .jemalloc_inside = allocator_inside_is_jemalloc(m),
			     .workers = xcalloc(parallel_workers(), sizeof(*g.workers)) };

	*b = (struct blame){ .at = o->at, .unit = o->unit, .sampled_at = NEVER };
	for (unsigned i = 0; i < CALLS; i++)
		g.jemalloc_calls[i] = allocator_is_jemalloc(m, locations_raw_call(i));
	find_samples(&g);
	if (g.before.there)
		b->sampled_at = g.before.residency.at;
	else if (g.after.there)
		b->sampled_at = g.after.residency.at;
	if (g.keys) {
		/* Rows are in the order of their beginnings. */
		parallel_for(columns_from(&m->allocations, o->at + 1), SCAN, find_pieces, &g);
		parallel_for(BUCKETS, 1, work_through, &g);
	}
	gather(&g, b);
	blaming_release(&g);
}

void blame_release(struct blame *b)
{
	free(b->holders);
	*b = (struct blame){ 0 };
}
