/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A heap profile dump beside the statistics of the same moment: which stacks keep the memory that
 * nobody uses.
 *
 * The statistics say how much of each size class's slabs is free, the dump says who has the regions
 * that keep those slabs.  A stack is charged a class's free bytes by its share of the regions that
 * are in use (of those that the dump has, where it differs by no more than chance); what no stack
 * of the dump accounts for (caches of threads, blocks from before profiling, chance) stays with the
 * class.  So the sums are those of the statistics, to the byte.
 *
 * Which classes a line of a dump is in follows from its mean size: jemalloc counts usable sizes, so
 * blocks of one class have that class's size as their mean.  A line of several sizes says no more
 * than its mean: it is spread over classes by what those have left when all lines of one size are
 * taken away, tilted so that number and bytes stay what they are.
 *
 * Profiling itself changes what it looks at: a small block that is sampled is not in a slab
 * (jemalloc/sampled.h).  Until 5.3.0 it is counted in the smallest large class. One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/profile.h"
#include "jemalloc/sampled.h"
#include "jemalloc/stats.h"
#include "jemalloc/waterfall.h"

struct buf;

struct join_class {
	uint64_t size;
	bool large;
	uint64_t live;	   /* regions in use, caches of threads too; or large blocks */
	uint64_t regions;  /* of its slabs; as many as live for a large one */
	uint64_t cached;   /* of live, in caches of threads: at most about so many */
	int64_t unused;	   /* bytes: free regions, or pages beside large blocks; < 0: a race */
	double seen;	   /* regions that the dump knows of */
	double sampled;	   /* of them: small blocks that are here because they were sampled */
	double charged;	   /* of unused, to stacks */
	size_t part_count; /* of stacks with blocks in it */
	size_t first;	   /* in by_class */
};

/* A stack's blocks of one class. */
struct join_part {
	size_t stack; /* of the profile's */
	size_t class;
	double objects;
	double sampled; /* of them: not in this class's slabs, but in join.home */
	double unused;	/* bytes that it is charged */
};

struct join_stack {
	size_t stack; /* of the profile's */
	double objects, bytes, unused;
	bool mixed;	   /* some of its lines are of several sizes: classes are a guess */
	size_t first;	   /* of parts: most unused bytes first */
	size_t part_count; /* 0: in no class of the statistics */
};

struct join {
	struct waterfall waterfall; /* of the same statistics */
	struct join_class *classes; /* by size */
	size_t class_count, class_room;
	struct join_part *parts; /* by stack */
	size_t part_count, part_room;
	size_t *by_class; /* numbers of parts: each class's together, most unused bytes first */
	struct join_stack *stacks; /* most unused bytes first */
	size_t stack_count;
	int64_t unused; /* of all classes */
	double charged; /* of it, to stacks */
	double mixed;	/* bytes in lines of several sizes */
	const struct stats *stats;
	const struct profile *profile;
	bool moved;	/* sampled small blocks are not in slabs */
	size_t home;	/* the class that they are in; SIZE_MAX: none */
	double apart;	/* how many of them are in no class */
	double sampled; /* bytes that these take, beyond what the program has of them */
	double pages;	/* of unused: pages beside them */
};

/* `p` is finished, `a` the sum of all arenas; profile and statistics are kept, not copied.  0, or
 * -ENODATA with err: there are no size classes in the statistics. */
int join_compute(struct join *j, const struct profile *p, const struct stats *s,
		 const struct stats_arena *a, struct err *err);
void join_release(struct join *j);

/* Innermost functions of those who have blocks of a class, with their shares, most first. */
#define JOIN_HOLDERS 32
struct join_holder {
	uint32_t name; /* of the profile's; 0: no stack */
	double percent;
};
size_t join_holders(const struct join *j, const struct join_class *c,
		    struct join_holder ret[JOIN_HOLDERS]);
/* `top` stacks at most, of all and of each class. */
void join_write_json(struct json *json, const struct join *j, uint64_t top);
void join_write_csv(struct buf *out, const struct join *j, uint64_t top);
