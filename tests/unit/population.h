/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Statistics of processes that are made up: arenas with bins, large classes, pages and mutexes,
 * whose sums add up as jemalloc's do.  For tests of what is concluded from statistics. */
#include <string.h>

#include "jemalloc/stats.h"

#define MIB (UINT64_C(1) << 20)
#define PAGE 4096u

static inline const char *population_version(void)
{
	return "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
}

static inline void population_set(struct stats *s, const char *name, const char *value)
{
	stats_add_setting(s, "", name, strlen(name), value, strlen(value));
}

/* A process of this version with nothing in it but the sum of its arenas. */
static inline void population_init(struct stats *s, const char *version)
{
	stats_clear(s);
	stats_set_version(s, version, strlen(version));
	s->shape[STATS_SHAPE_PAGE] = PAGE;
	s->shape[STATS_SHAPE_DIRTY_DECAY_MS] = 10000;
	s->shape[STATS_SHAPE_MUZZY_DECAY_MS] = 0;
	s->shape[STATS_SHAPE_TCACHE_MAX] = 32768;
	population_set(s, "opt.cache_oblivious", "true");
	stats_add_arena(s, STATS_MERGED);
}

static inline void population_plus(uint64_t *value, uint64_t more)
{
	*value = (*value < STATS_NONE ? *value : 0) + more;
}

/* Active pages and what is allocated in them, of one arena and of all. */
static inline void population_hold(struct stats *s, struct stats_arena *a, uint64_t active,
				   uint64_t allocated)
{
	struct stats_arena *both[] = { a, &s->arenas[0] };

	for (unsigned i = 0; i < 2 && (!i || a != both[1]); i++) {
		population_plus(&both[i]->value[STATS_ARENA_ACTIVE], active);
		population_plus(&both[i]->value[STATS_ARENA_PACTIVE], active / PAGE);
		population_plus(&both[i]->value[STATS_ARENA_RESIDENT], active);
		population_plus(&both[i]->value[STATS_ARENA_TOTAL_ALLOCATED], allocated);
	}
	population_plus(&s->total[STATS_TOTAL_ACTIVE], active);
	population_plus(&s->total[STATS_TOTAL_RESIDENT], active);
	population_plus(&s->total[STATS_TOTAL_ALLOCATED], allocated);
}

/* An arena of its own, with so many bytes active and allocated.  Pointers to arenas do not outlive
 * it. */
static inline void population_arena(struct stats *s, int64_t id, uint64_t active,
				    uint64_t allocated)
{
	struct stats_arena *a = stats_add_arena(s, id);

	population_hold(s, a, active, allocated);
}

/* Small blocks in slabs of `regions`, of which `used` are. */
static inline uint64_t *population_bin(struct stats *s, uint64_t size, uint64_t used,
				       uint64_t regions, uint64_t slabs)
{
	struct stats_arena *a = &s->arenas[0];
	uint64_t *row = stats_add_row(&a->bins);

	row[STATS_BIN_SIZE] = size;
	row[STATS_BIN_CURREGS] = used;
	row[STATS_BIN_ALLOCATED] = used * size;
	row[STATS_BIN_NREGS] = regions;
	row[STATS_BIN_CURSLABS] = slabs;
	row[STATS_BIN_NMALLOC] = used + 1000;
	row[STATS_BIN_NDALLOC] = 1000;
	population_hold(s, a, regions * slabs * size, used * size);
	return row;
}

/* Large blocks, with a page beside each. */
static inline void population_large(struct stats *s, uint64_t size, uint64_t count)
{
	struct stats_arena *a = &s->arenas[0];
	uint64_t *row = stats_add_row(&a->large);

	row[STATS_LARGE_SIZE] = size;
	row[STATS_LARGE_COUNT] = count;
	row[STATS_LARGE_ALLOCATED] = size * count;
	population_hold(s, a, (size + PAGE) * count, size * count);
}

static inline void population_profiles(struct stats *s, const char *lg)
{
	population_set(s, "opt.prof", "true");
	population_set(s, "opt.lg_prof_sample", lg);
	population_set(s, "prof.active", "true");
	population_set(s, "prof.lg_sample", lg);
}
