/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How size classes grow over snapshots: which one may be a leak, and how fast.
 *
 * Memory is bounded: when there are too many samples, every second one is dropped (a whole series)
 * or the oldest ones are (a window that moves with a live process).  Times are those in the log,
 * or else the process's age; without either, snapshots are counted.  A process that is younger than
 * it was is another one, and begins anew.  What the heap profiler itself takes (sampled.h) is not
 * counted. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "jemalloc/stats.h"

#define GROWTH_CLASSES 320
#define GROWTH_SAMPLES 512
/* Nothing is called a leak below these: a program that starts grows as well. */
#define GROWTH_LEAST_SAMPLES 10u
#define GROWTH_LEAST_SECONDS 60u

enum growth_clock { GROWTH_NO_CLOCK, GROWTH_WALL, GROWTH_UPTIME, GROWTH_SNAPSHOTS };

struct growth_class {
	uint64_t size;
	bool large;
	uint64_t first, last; /* bytes in the first and the last sample */
	double slope;	      /* bytes a second, or a snapshot: the straight line that fits best */
	double fit;	      /* 0 to 1: how much of what happened is that line */
	unsigned rises, falls;
	bool steady;  /* grows, and in a straight line */
	bool suspect; /* has done so for long enough: may be a leak */
};

struct growth {
	struct growth_class classes[GROWTH_CLASSES];
	size_t class_count;
	double times[GROWTH_SAMPLES]; /* in seconds, or snapshots */
	uint64_t *bytes;	      /* GROWTH_CLASSES for each sample */
	size_t sample_count;
	bool moving;  /* keep the newest samples, not a selection of all */
	size_t limit; /* samples; 0: all there is room for */
	enum growth_clock clock;
	uint64_t uptime;
	uint64_t skip, skipped; /* of a long series: every so many-th is taken */
	unsigned restarts;
	uint64_t seen;
};

/* Zeroed before the first use.  `time_ns` may be WHEN_NONE. */
void growth_add(struct growth *g, const struct stats *s, const struct stats_arena *whole,
		int64_t time_ns);
/* The same for arenas, in a struct of its own: `size` is the arena's number then. */
void growth_add_arenas(struct growth *g, const struct stats *s, int64_t time_ns);
/* Fills slopes; returns the classes that changed, those that grow fastest first.  The caller frees
 * the array, not what it points to. */
const struct growth_class **growth_rank(struct growth *g, size_t *ret_count);
void growth_release(struct growth *g);
/* The class of a size as growth_rank() left it, or NULL. */
const struct growth_class *growth_find(const struct growth *g, uint64_t size);
/* Seconds between the first and the last sample. */
double growth_span(const struct growth *g);
/* Too few samples, in too short a time or without any. */
bool growth_is_early(const struct growth *g);
/* The same in words, with what it would take; "" if it is not. */
#define GROWTH_EARLY_MAX 128
void growth_early_text(const struct growth *g, char out[GROWTH_EARLY_MAX]);
/* {"clock", "span", "samples", "classes": [...]} */
void growth_write(struct json *j, const char *key, struct growth *g);
