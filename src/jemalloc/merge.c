/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sum of all arenas.  See merge.h.
 *
 * Counters and bytes are added; what is the same in all (sizes, regions of a slab) is taken from
 * the first that has it, and of largest values the largest counts. */
#include "jemalloc/merge.h"

#include <string.h>

enum how { ADD, SAME, MOST, NOTHING };

static enum how how_mutex(unsigned field)
{
	return field == STATS_MUTEX_MAX_WAIT || field == STATS_MUTEX_MAX_THREADS ? MOST : ADD;
}

static enum how how_arena(unsigned field)
{
	if (field == STATS_ARENA_UPTIME_NS)
		return MOST;
	return field == STATS_ARENA_DIRTY_DECAY_MS || field == STATS_ARENA_MUZZY_DECAY_MS ? NOTHING
											  : ADD;
}

static enum how how_bin(unsigned field)
{
	if (field < STATS_MUTEX_COUNT)
		return how_mutex(field);
	return field == STATS_BIN_SIZE || field == STATS_BIN_INDEX || field == STATS_BIN_NREGS ||
			       field == STATS_BIN_PAGES || field == STATS_BIN_NSHARDS
		       ? SAME
		       : ADD;
}

/* Of large classes, extents and slabs the first two fields are size and index. */
static enum how how_class(unsigned field)
{
	return field < 2 ? SAME : ADD;
}

static enum how how_any(unsigned field)
{
	return ADD;
}

static void merge_values(uint64_t *to, const uint64_t *from, unsigned count,
			 enum how (*how)(unsigned))
{
	for (unsigned i = 0; i < count; i++) {
		enum how what = how(i);

		if (from[i] == STATS_NONE || what == NOTHING)
			continue;
		if (to[i] == STATS_NONE)
			to[i] = from[i];
		else if (what == ADD)
			to[i] += from[i];
		else if (what == MOST && from[i] > to[i])
			to[i] = from[i];
	}
}

static uint64_t key_of(const uint64_t *row, unsigned size, unsigned index)
{
	return row[index] != STATS_NONE ? row[index] : row[size];
}

/* Classes come in the same order in all arenas, so the next one is nearly always behind the last.
 */
static void add_rows(struct stats_rows *to, const struct stats_rows *from, unsigned size,
		     unsigned index, enum how (*how)(unsigned))
{
	size_t at = 0;

	for (size_t i = 0; i < from->count; i++) {
		const uint64_t *row = stats_row(from, i);
		uint64_t key = key_of(row, size, index);
		size_t seen = 0;

		for (; seen < to->count; seen++, at = at + 1 < to->count ? at + 1 : 0)
			if (key_of(stats_row(to, at), size, index) == key)
				break;
		if (seen == to->count) {
			stats_add_row(to);
			at = to->count - 1;
		}
		merge_values(stats_row(to, at), row, to->width, how);
	}
}

static void add_mutexes(struct stats_mutexes *to, const struct stats_mutexes *from)
{
	for (size_t i = 0; i < from->count; i++) {
		struct stats_mutex *m = NULL;

		for (size_t k = 0; k < to->count && !m; k++)
			if (!strcmp(to->list[k].name, from->list[i].name))
				m = &to->list[k];
		if (!m)
			m = stats_add_mutex(to, from->list[i].name, strlen(from->list[i].name));
		merge_values(m->value, from->list[i].value, STATS_MUTEX_COUNT, how_mutex);
	}
}

const struct stats_arena *stats_merge(struct stats *s)
{
	const struct stats_arena *whole = stats_whole(s);
	size_t count = s->arena_count;
	struct stats_arena *sum;
	bool live = false;

	for (size_t i = 0; i < count; i++)
		live |= s->arenas[i].id >= 0;
	if (whole || !live)
		return whole;
	sum = stats_add_arena(s, STATS_MERGED);
	for (size_t i = 0; i < count; i++) {
		const struct stats_arena *a = &s->arenas[i];

		if (a->id < 0)
			continue;
		merge_values(sum->value, a->value, STATS_ARENA_COUNT, how_arena);
		merge_values(sum->hpa, a->hpa, STATS_HPA_COUNT, how_any);
		add_rows(&sum->bins, &a->bins, STATS_BIN_SIZE, STATS_BIN_INDEX, how_bin);
		add_rows(&sum->large, &a->large, STATS_LARGE_SIZE, STATS_LARGE_INDEX, how_class);
		add_rows(&sum->extents, &a->extents, STATS_EXTENT_SIZE, STATS_EXTENT_INDEX,
			 how_class);
		add_rows(&sum->slabs, &a->slabs, STATS_SLAB_SIZE, STATS_SLAB_INDEX, how_class);
		add_mutexes(&sum->mutexes, &a->mutexes);
	}
	s->merged_made = true;
	return sum;
}
