/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What malloc_stats_print() said, once: the same struct whether it was text or JSON, of any
 * version.
 *
 * Numbers are in arrays with a field for each place; a table beside each array has the names that
 * JSON and text use, and both readers, the printers and the tests go by these tables.  What was
 * not said is STATS_NONE. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"

#define STATS_NONE (UINT64_C(1) << 63)

/* 0 for what was not said. */
static inline uint64_t stats_known(uint64_t value)
{
	return value < STATS_NONE ? value : 0;
}

struct stats_field {
	const char *name;    /* of JSON, and ours; "" ends a table */
	const char *text;    /* what text calls it, NULL: it does not */
	const char *also[3]; /* what older versions called it, in either */
};

/* X(what, name, text, older names) */
#define STATS_TOTALS(X)                                                                            \
	X(ALLOCATED, "allocated", "Allocated")                                                     \
	X(ACTIVE, "active", "active")                                                              \
	X(METADATA, "metadata", "metadata")                                                        \
	X(METADATA_THP, "metadata_thp", "n_thp")                                                   \
	X(METADATA_EDATA, "metadata_edata", "edata")                                               \
	X(METADATA_RTREE, "metadata_rtree", "rtree")                                               \
	X(RESIDENT, "resident", "resident")                                                        \
	X(MAPPED, "mapped", "mapped")                                                              \
	X(RETAINED, "retained", "retained")                                                        \
	X(PINNED, "pinned", "pinned")                                                              \
	X(CEILING, "cactive", "ceiling")                                                           \
	X(ZERO_REALLOCS, "zero_reallocs", "calls")                                                 \
	X(BACKGROUND_THREADS, "num_threads", "threads")                                            \
	X(BACKGROUND_RUNS, "num_runs", "num_runs")                                                 \
	X(BACKGROUND_INTERVAL, "run_interval", "run_interval")

#define STATS_SHAPE(X)                                                                             \
	X(NARENAS, "narenas", "Arenas")                                                            \
	X(DIRTY_DECAY_MS, "dirty_decay_ms", "arenas.dirty_decay_ms")                               \
	X(MUZZY_DECAY_MS, "muzzy_decay_ms", "arenas.muzzy_decay_ms")                               \
	X(QUANTUM, "quantum", "Quantum size")                                                      \
	X(PAGE, "page", "Page size")                                                               \
	X(HUGEPAGE, "hugepage", NULL)                                                              \
	X(TCACHE_MAX, "tcache_max", "Maximum thread-cached size class")                            \
	X(NBINS, "nbins", "Number of bin size classes")                                            \
	X(NHBINS, "nhbins", "Number of thread-cache bin size classes")                             \
	X(NLARGE, "nlextents", "Number of large size classes")

#define STATS_CALLS(X, WHAT, name)                                                                 \
	X(WHAT##_ALLOCATED, name "allocated", "allocated")                                         \
	X(WHAT##_NMALLOC, name "nmalloc", "nmalloc")                                               \
	X(WHAT##_NDALLOC, name "ndalloc", "ndalloc")                                               \
	X(WHAT##_NREQUESTS, name "nrequests", "nrequests")                                         \
	X(WHAT##_NFILLS, name "nfills", "nfill")                                                   \
	X(WHAT##_NFLUSHES, name "nflushes", "nflush")
#define STATS_CALLS_COUNT 6

#define STATS_ARENA(X)                                                                             \
	X(NTHREADS, "nthreads", "assigned threads")                                                \
	X(UPTIME_NS, "uptime_ns", "uptime")                                                        \
	X(DIRTY_DECAY_MS, "dirty_decay_ms", NULL)                                                  \
	X(MUZZY_DECAY_MS, "muzzy_decay_ms", NULL)                                                  \
	X(PACTIVE, "pactive", NULL)                                                                \
	X(PDIRTY, "pdirty", NULL)                                                                  \
	X(PMUZZY, "pmuzzy", NULL)                                                                  \
	X(DIRTY_NPURGE, "dirty_npurge", NULL, "npurge")                                            \
	X(DIRTY_NMADVISE, "dirty_nmadvise", NULL, "nmadvise")                                      \
	X(DIRTY_PURGED, "dirty_purged", NULL, "purged")                                            \
	X(MUZZY_NPURGE, "muzzy_npurge", NULL)                                                      \
	X(MUZZY_NMADVISE, "muzzy_nmadvise", NULL)                                                  \
	X(MUZZY_PURGED, "muzzy_purged", NULL)                                                      \
	STATS_CALLS(X, SMALL, "small_")                                                            \
	STATS_CALLS(X, LARGE, "large_")                                                            \
	STATS_CALLS(X, HUGE, "huge_")                                                              \
	STATS_CALLS(X, TOTAL, "total_")                                                            \
	X(ACTIVE, "active", "active")                                                              \
	X(MAPPED, "mapped", "mapped")                                                              \
	X(RETAINED, "retained", "retained")                                                        \
	X(BASE, "base", "base")                                                                    \
	X(INTERNAL, "internal", "internal")                                                        \
	X(METADATA_THP, "metadata_thp", "metadata_thp")                                            \
	X(METADATA_EDATA, "metadata_edata", "metadata_edata")                                      \
	X(METADATA_RTREE, "metadata_rtree", "metadata_rtree")                                      \
	X(TCACHE_BYTES, "tcache_bytes", "tcache_bytes", "tcache")                                  \
	X(TCACHE_STASHED_BYTES, "tcache_stashed_bytes", "tcache_stashed_bytes")                    \
	X(RESIDENT, "resident", "resident")                                                        \
	X(ABANDONED_VM, "abandoned_vm", "abandoned_vm")                                            \
	X(EXTENT_AVAIL, "extent_avail", "extent_avail")                                            \
	X(PINNED, "pinned", "pinned")                                                              \
	X(SEC_BYTES, "sec_bytes", "Bytes in small extent cache")                                   \
	X(METADATA_MAPPED, "metadata_mapped", NULL)                                                \
	X(METADATA_ALLOCATED, "metadata_allocated", NULL)

#define STATS_MUTEX(X)                                                                             \
	X(OPS, "num_ops", "n_lock_ops")                                                            \
	X(WAIT, "num_wait", "n_waiting")                                                           \
	X(SPIN_ACQ, "num_spin_acq", "n_spin_acq")                                                  \
	X(OWNER_SWITCH, "num_owner_switch", "n_owner_switch")                                      \
	X(TOTAL_WAIT, "total_wait_time", "total_wait_ns")                                          \
	X(MAX_WAIT, "max_wait_time", "max_wait_ns")                                                \
	X(MAX_THREADS, "max_num_thds", "max_n_thds")
#define STATS_MUTEX_COUNT 7

#define STATS_PROF(X)                                                                              \
	X(LIVE_REQUESTED, "prof_live_requested", "prof_live_requested")                            \
	X(LIVE_COUNT, "prof_live_count", "prof_live_count")                                        \
	X(ACCUM_REQUESTED, "prof_accum_requested", "prof_accum_requested")                         \
	X(ACCUM_COUNT, "prof_accum_count", "prof_accum_count")

#define STATS_BIN(X)                                                                               \
	STATS_MUTEX(X) /* first, so that a bin's mutex is an array of its own */                   \
	X(SIZE, "size", "size")                                                                    \
	X(INDEX, "ind", "ind", "bin")                                                              \
	X(ALLOCATED, "allocated", "allocated")                                                     \
	X(NMALLOC, "nmalloc", "nmalloc")                                                           \
	X(NDALLOC, "ndalloc", "ndalloc")                                                           \
	X(CURREGS, "curregs", "curregs")                                                           \
	X(NREQUESTS, "nrequests", "nrequests")                                                     \
	STATS_PROF(X)                                                                              \
	X(NFILLS, "nfills", "nfills")                                                              \
	X(NFLUSHES, "nflushes", "nflushes")                                                        \
	X(NRESLABS, "nreslabs", "nreslabs", "reslabs", "reruns", "nreruns")                        \
	X(CURSLABS, "curslabs", "curslabs", "curruns")                                             \
	X(NONFULL_SLABS, "nonfull_slabs", "nonfull_slabs")                                         \
	X(NREGS, "nregs", "regs")                                                                  \
	X(PAGES, "pages", "pgs")                                                                   \
	X(NSHARDS, "nshards", "nshards")                                                           \
	X(NSLABS, "nslabs", "nslabs", "newslabs", "newruns")

#define STATS_LARGE(X)                                                                             \
	X(SIZE, "size", "size")                                                                    \
	X(INDEX, "ind", "ind")                                                                     \
	X(ALLOCATED, "allocated", "allocated")                                                     \
	X(NMALLOC, "nmalloc", "nmalloc")                                                           \
	X(NDALLOC, "ndalloc", "ndalloc")                                                           \
	X(NREQUESTS, "nrequests", "nrequests")                                                     \
	STATS_PROF(X)                                                                              \
	X(COUNT, "curlextents", "curlextents", "curruns", "curhchunks")

#define STATS_EXTENT(X)                                                                            \
	X(SIZE, "size", "size")                                                                    \
	X(INDEX, "ind", "ind")                                                                     \
	X(NDIRTY, "ndirty", "ndirty")                                                              \
	X(NMUZZY, "nmuzzy", "nmuzzy")                                                              \
	X(NRETAINED, "nretained", "nretained")                                                     \
	X(NPINNED, "npinned", "npinned")                                                           \
	X(DIRTY, "dirty_bytes", "dirty")                                                           \
	X(MUZZY, "muzzy_bytes", "muzzy")                                                           \
	X(RETAINED, "retained_bytes", "retained")                                                  \
	X(PINNED, "pinned_bytes", "pinned")

#define STATS_SLABS(X, WHAT, name)                                                                 \
	X(WHAT##_NPAGESLABS_HUGE, name "npageslabs_huge", NULL)                                    \
	X(WHAT##_NPAGESLABS_NONHUGE, name "npageslabs_nonhuge", NULL)                              \
	X(WHAT##_NACTIVE_HUGE, name "nactive_huge", NULL)                                          \
	X(WHAT##_NACTIVE_NONHUGE, name "nactive_nonhuge", NULL)                                    \
	X(WHAT##_NDIRTY_HUGE, name "ndirty_huge", NULL)                                            \
	X(WHAT##_NDIRTY_NONHUGE, name "ndirty_nonhuge", NULL)                                      \
	X(WHAT##_NRETAINED_HUGE, name "nretained_huge", NULL)                                      \
	X(WHAT##_NRETAINED_NONHUGE, name "nretained_nonhuge", NULL)
#define STATS_SLABS_COUNT 8

/* The huge page allocator of an arena. */
#define STATS_HPA(X)                                                                               \
	X(NPURGE_PASSES, "npurge_passes", "Purge passes")                                          \
	X(NPURGES, "npurges", "Purges")                                                            \
	X(NHUGIFIES, "nhugifies", "Hugeifies")                                                     \
	X(NHUGIFY_FAILURES, "nhugify_failures", "Hugify failures")                                 \
	X(NDEHUGIFIES, "ndehugifies", "Dehugifies")                                                \
	STATS_SLABS(X, FULL, "full_")                                                              \
	STATS_SLABS(X, EMPTY, "empty_")

/* Its slabs that are neither full nor empty, by how much room they have. */
#define STATS_SLAB(X)                                                                              \
	X(SIZE, "size", "size")                                                                    \
	X(INDEX, "ind", "ind")                                                                     \
	X(NPAGESLABS_HUGE, "npageslabs_huge", "npageslabs_huge")                                   \
	X(NACTIVE_HUGE, "nactive_huge", "nactive_huge")                                            \
	X(NDIRTY_HUGE, "ndirty_huge", "ndirty_huge")                                               \
	X(NPAGESLABS_NONHUGE, "npageslabs_nonhuge", "npageslabs_nonhuge")                          \
	X(NACTIVE_NONHUGE, "nactive_nonhuge", "nactive_nonhuge")                                   \
	X(NDIRTY_NONHUGE, "ndirty_nonhuge", "ndirty_nonhuge")                                      \
	X(NRETAINED_NONHUGE, "nretained_nonhuge", "nretained_nonhuge")

#define STATS_X(what, ...) STATS_TOTAL_##what,
enum stats_total { STATS_TOTALS(STATS_X) STATS_TOTAL_COUNT };
#undef STATS_X
#define STATS_X(what, ...) STATS_SHAPE_##what,
enum stats_shape { STATS_SHAPE(STATS_X) STATS_SHAPE_COUNT };
#undef STATS_X
#define STATS_X(what, ...) STATS_ARENA_##what,
enum stats_arena_field { STATS_ARENA(STATS_X) STATS_ARENA_COUNT };
#undef STATS_X
#define STATS_X(what, ...) STATS_MUTEX_##what,
enum stats_mutex_field { STATS_MUTEX(STATS_X) };
#undef STATS_X
#define STATS_X(what, ...) STATS_BIN_##what,
enum stats_bin_field { STATS_BIN(STATS_X) STATS_BIN_COUNT };
#undef STATS_X
#define STATS_X(what, ...) STATS_LARGE_##what,
enum stats_large_field { STATS_LARGE(STATS_X) STATS_LARGE_COUNT_ };
#undef STATS_X
#define STATS_X(what, ...) STATS_EXTENT_##what,
enum stats_extent_field { STATS_EXTENT(STATS_X) STATS_EXTENT_COUNT };
#undef STATS_X
#define STATS_X(what, ...) STATS_HPA_##what,
enum stats_hpa_field { STATS_HPA(STATS_X) STATS_HPA_COUNT };
#undef STATS_X
#define STATS_X(what, ...) STATS_SLAB_##what,
enum stats_slab_field { STATS_SLAB(STATS_X) STATS_SLAB_COUNT };
#undef STATS_X

extern const struct stats_field stats_total_fields[], stats_shape_fields[], stats_arena_fields[],
	stats_mutex_fields[], stats_bin_fields[], stats_large_fields[], stats_extent_fields[],
	stats_hpa_fields[], stats_slab_fields[];

/* Rows of numbers, `width` of them each. */
struct stats_rows {
	uint64_t *values;
	size_t count, room;
	unsigned width;
};

static inline uint64_t *stats_row(const struct stats_rows *r, size_t i)
{
	return r->values + i * r->width;
}

struct stats_mutex {
	char name[28];
	uint64_t value[STATS_MUTEX_COUNT];
};

struct stats_mutexes {
	struct stats_mutex *list;
	size_t count, room;
};

enum { STATS_MERGED = -1, STATS_DESTROYED = -2 };

struct stats_arena {
	int64_t id; /* its number, or one of the above */
	uint64_t value[STATS_ARENA_COUNT];
	uint64_t hpa[STATS_HPA_COUNT];
	struct stats_rows bins, large, extents, slabs;
	struct stats_mutexes mutexes;
};

/* opt.narenas and its like; offsets into `words`. */
struct stats_setting {
	size_t name, value;
};

struct stats {
	char version[64];
	unsigned release; /* 50300 for 5.3.0; 0: not said */
	bool json;
	bool mutexes_lost;   /* JSON of a version that mixes up mutex counters: see stats_json.c */
	bool merged_made;    /* the sum of the arenas was not printed: see merge.h */
	unsigned duplicates; /* keys that came twice */
	unsigned races;	     /* bins with more in use than there is */
	uint64_t total[STATS_TOTAL_COUNT];
	uint64_t shape[STATS_SHAPE_COUNT];
	struct stats_rows bin_shapes, large_shapes; /* size classes, where told apart from arenas */
	struct stats_mutexes mutexes;
	struct stats_arena *arenas;
	size_t arena_count, arena_room; /* those beyond the count keep their memory for reuse */
	struct buf words;
	struct stats_setting *settings;
	size_t setting_count, setting_room;
};

void stats_init(struct stats *s);
void stats_release(struct stats *s);
/* Empty again; memory is kept. */
void stats_clear(struct stats *s);

/* For the readers. */
struct stats_arena *stats_add_arena(struct stats *s, int64_t id);
uint64_t *stats_add_row(struct stats_rows *r);
struct stats_mutex *stats_add_mutex(struct stats_mutexes *m, const char *name, size_t size);
/* False: it was there already. */
bool stats_add_setting(struct stats *s, const char *prefix, const char *name, size_t name_size,
		       const char *value, size_t value_size);
void stats_set_version(struct stats *s, const char *text, size_t size);
/* The field that a name of JSON (or text) means, or -1.  `hint` is where the last one was found. */
int stats_find(const struct stats_field *fields, bool text, const char *name, size_t size,
	       int hint);
/* What follows from the rest: bytes of active pages, sums, sizes of classes. */
void stats_complete(struct stats *s);

/* By id; NULL: none. */
const struct stats_arena *stats_arena(const struct stats *s, int64_t id);
/* The sum of all arenas: merged, or the only one there is; NULL where neither was printed. */
const struct stats_arena *stats_whole(const struct stats *s);
const char *stats_setting(const struct stats *s, const char *name);
bool stats_setting_is(const struct stats *s, const char *name, const char *value);
/* The n-th thing that a reader put right or cannot know, as a sentence; empty: it does not apply.
 * False behind the last. */
#define STATS_CORRECTION_MAX 240
bool stats_correction(const struct stats *s, unsigned n, char text[STATS_CORRECTION_MAX]);
/* How much of a bin's slabs is used, in thousandths, as jemalloc rounds it; STATS_RACE: more than
 * there is, since counters raced; STATS_NO_UTIL: it has no slabs, or that was not said. */
#define STATS_RACE UINT32_MAX
#define STATS_NO_UTIL (UINT32_MAX - 1)
uint32_t stats_bin_util(const uint64_t *bin);
/* What this snapshot lacks that a reader would look for, as the end of a sentence, or NULL. */
const char *stats_missing(const struct stats *s);
/* "merged", "destroyed" or its number; `room` is for the number. */
const char *stats_arena_name(int64_t id, char room[24]);
/* How long the process has run, in ns: its oldest arena's age; STATS_NONE: not said. */
uint64_t stats_uptime(const struct stats *s);
/* The size of extents of an index, for pages of 2^lg_page bytes. */
uint64_t stats_extent_size(uint64_t page, uint64_t index);
