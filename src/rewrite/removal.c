/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Deciding what is removed.  See removal.h. */
#include "rewrite/removal.h"

#include <string.h>

#include "base/xalloc.h"
#include "model/chains.h"
#include "query/clock.h"
#include "query/event_iterator.h"

/* The row that was given the address of this one although no free had been seen: only its
 * allocation says that this one ended. */
static uint32_t displacer(const struct columns *c, uint32_t row)
{
	uint32_t next;

	if (!(tags_flags(columns_tags(c, row)) & TAG_FREE_LOST))
		return NO_ALLOCATION;
	next = columns_from(c, columns_freed_at(c, row));
	return next < c->count ? next : NO_ALLOCATION;
}

static void keep_row(struct removal *p, uint32_t row)
{
	p->keep[row / 64] |= 1ull << row % 64;
}

/* Marks a row with its chain, and what is needed for it to end as it did. */
static void removal_keep_row(struct removal *p, const struct model *m, uint32_t row)
{
	const struct columns *c = &m->allocations;

	while (row != NO_ALLOCATION && !removal_keeps(p, row)) {
		uint32_t last = row;

		if (columns_chain(c, row) != NO_CHAIN)
			last = m->chains[columns_chain(c, row)].last;
		for (uint32_t i = last; i != NO_ALLOCATION; i = columns_previous(c, i))
			keep_row(p, i);
		row = displacer(c, last);
	}
}

/* No event that could be taken over says how it ended: it became something, but what is lost; or
 * its end came before it, in a recording that was switched on and off (pairing/pair.c), and was
 * believed only later.  Such lives are as short as can be. */
static bool ended_unseen(const struct columns *c, uint32_t row, bool unsure)
{
	return tags_flags(columns_tags(c, row)) & TAG_REALLOCATED ||
	       (unsure && columns_freed_at(c, row) == columns_allocated_at(c, row) + 1);
}

static void decide(struct removal *p, const struct model *m, const struct model_clock *clock,
		   uint64_t threshold_ns)
{
	const struct columns *c = &m->allocations;
	bool unsure = model_counters(m, "switched_o") != 0;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t last = i;

		/* A chain is looked at when its first row comes. */
		if (columns_previous(c, i) != NO_ALLOCATION)
			continue;
		if (columns_chain(c, i) != NO_CHAIN)
			last = m->chains[columns_chain(c, i)].last;
		if (ended_unseen(c, last, unsure))
			continue;
		if (columns_freed_at(c, last) == NEVER ||
		    clock_duration_ns(clock, columns_freed_at(c, last) -
						     columns_allocated_at(c, i)) > threshold_ns)
			removal_keep_row(p, m, i);
	}
}

static struct statistics *row_of(struct removed *r, uint32_t stack, unsigned call)
{
	uint64_t at;

	if (map_number(&r->by_stack, stack, &at))
		*xpush(r->rows, r->count, r->room) =
			(struct statistics){ .stack = stack, .call = call };
	return &r->rows[at];
}

static void count_row(struct removal *p, const struct columns *c, uint32_t row,
		      const struct model_clock *clock, struct statistics *s)
{
	uint64_t size = columns_size(c, row);
	unsigned flags = tags_flags(columns_tags(c, row));

	statistics_count(s, size, columns_slack(c, row), columns_allocated_at(c, row),
			 statistics_bucket(clock_duration_ns(
				 clock, columns_freed_at(c, row) - columns_allocated_at(c, row))));
	if (flags & TAG_TEMPORARY) {
		s->temporary++;
		s->temporary_bytes += size;
	}
	s->reallocs += columns_previous(c, row) != NO_ALLOCATION;
	s->frees += !(flags & (TAG_REALLOCATED | TAG_FREE_LOST));
	p->removed++;
	p->removed_bytes += size;
}

/* Sums of what goes, in a row for each stack that there is. */
static void removal_sum(struct removal *p, const struct model *m, const struct model_clock *clock)
{
	const struct columns *c = &m->allocations;

	for (uint32_t i = 0; i < c->count; i++) {
		struct statistics *s =
			row_of(&p->sums, columns_stack(c, i), tags_call(columns_tags(c, i)));

		if (!removal_keeps(p, i))
			count_row(p, c, i, clock, s);
	}
}

struct alive {
	uint64_t bytes, count;
};

/* The whole's part of each row: its own peak, and what was alive at the program's. */
static void see_whole(struct removal *p, const struct model *m)
{
	const struct columns *c = &m->allocations;
	auto_free struct alive *alive = xcalloc(p->sums.count + 1, sizeof(*alive));
	struct event_iterator t = event_iterator_between(m, 0, NEVER);

	while (event_iterator_next(&t)) {
		uint64_t size = columns_size(c, t.row), at = 0;
		struct statistics *s;

		map_get(&p->sums.by_stack, columns_stack(c, t.row), &at);
		s = &p->sums.rows[at];
		if (t.is_free) {
			alive[at].bytes -= size;
			alive[at].count--;
			continue;
		}
		alive[at].bytes += size;
		alive[at].count++;
		if (alive[at].bytes > s->own_peak_bytes || !s->own_peak_count) {
			s->own_peak_bytes = alive[at].bytes;
			s->own_peak_count = alive[at].count;
			s->own_peak_at = t.at;
		}
		if (t.at <= m->totals.peak_at && columns_freed_at(c, t.row) > m->totals.peak_at) {
			s->peak_bytes += size;
			s->peak_count++;
		}
	}
}

/* A stack that lost something before knows its whole already: the events are not all of it. */
static void add_earlier(struct removal *p, const struct removed *earlier)
{
	for (size_t i = 0; i < earlier->count; i++) {
		struct statistics *s =
			row_of(&p->sums, earlier->rows[i].stack, earlier->rows[i].call);
		struct statistics whole = earlier->rows[i];

		statistics_merge(&whole, s);
		whole.call = earlier->rows[i].count ? earlier->rows[i].call : s->call;
		*s = whole;
	}
}

void removal_plan(struct removal *p, const struct model *m, uint64_t threshold_ns)
{
	struct model_clock clock = model_clock(m);

	memset(p, 0, sizeof(*p));
	p->rows = m->allocations.count;
	p->keep = xcalloc(p->rows / 64 + 1, sizeof(*p->keep));
	decide(p, m, &clock, threshold_ns);
	removal_sum(p, m, &clock);
	see_whole(p, m);
	add_earlier(p, &m->tables.removed);
}

void removal_release(struct removal *p)
{
	free(p->keep);
	removed_release(&p->sums);
	memset(p, 0, sizeof(*p));
}
