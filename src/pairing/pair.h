/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Events in order of time become allocations with a beginning and an end.
 *
 * Fed by merge.c with batches; keeps the table of live blocks, each ring's open reallocs, and the
 * totals.  What it cannot pair is counted, never guessed, with one exception: a processor may read
 * its clock some nanoseconds before the instructions in front of it are done, so two events on one
 * address that came right after each other on two threads may be the wrong way round.  Blocks at
 * one address follow each other, and a thread's own events are in order, so what was meant is
 * plain, and it is put right. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pairing/columns.h"
#include "pairing/live.h"
#include "pairing/map_calls.h"
#include "pairing/markers.h"
#include "pairing/row_builder.h"
#include "pairing/threads.h"
#include "wire/event.h"

struct totals {
	uint64_t events;
	uint64_t allocations;	/* each realloc that succeeded counts as one more */
	uint64_t deallocations; /* calls that freed a block */
	uint64_t reallocations; /* reallocs that succeeded */
	uint64_t realloc_failures;
	uint64_t allocated_bytes; /* as requested */
	uint64_t live_count, live_bytes;
	uint64_t peak_bytes, peak_count, peak_at; /* most bytes alive, and when */
	uint64_t temporary;			  /* freed by their thread's next event */
	/* As heaptrack counts: the process's next event frees, or reallocates, a block of the same
	 * size and stack, be it another one. */
	uint64_t heaptrack_temporary;
	uint64_t unknown_frees;	    /* of addresses that no block was known at */
	uint64_t implicit_frees;    /* seen only because the address was given out again */
	uint64_t mended;	    /* inversions put right */
	uint64_t first_at, last_at; /* stamps of the first and the last event */
};

#define PAIR_PENDING 16	     /* reallocs that may be open in one ring, in nested signal handlers */
#define PAIR_DISPLACED 32    /* inversions that are remembered */
#define PAIR_EARLY 256	     /* ends without a beginning that are remembered, by address */
#define PAIR_DOUBTS 4096     /* blocks that may have ended before they began, by row */
#define PAIR_CLOSED 16384    /* rows that were closed last are not used again … */
#define PAIR_CLOSED_HOT 512  /* … so few where rows should stay in the processor's cache */
#define PAIR_INVERSION 16384 /* ticks: two events further apart were not inverted */

struct pair_ring {
	uint32_t thread;  /* row, or NO_ALLOCATION before the first event */
	uint32_t last;	  /* row that this ring's last event allocated, or NO_ALLOCATION */
	uint64_t last_at; /* when */
	uint32_t pending_count;
	uint32_t marker_pieces; /* of the marker whose name is coming; 0: none */
	size_t marker;
	uint32_t pending[PAIR_PENDING]; /* rows given to realloc, or NO_ALLOCATION for unknown ones
					 */
};

/* Is told what became of each event, in order of time: its time, mended, and the row that it began,
 * ended or handed to realloc; NO_ALLOCATION for none.  What came before its block's allocation is
 * told of twice: as belonging to none, and when the block was there. */
typedef void (*pair_observer)(void *context, const struct event *e, uint32_t ring, uint64_t at,
			      uint32_t row);

/* Is told that the block `row` was taken for freed, because `by` is at its address. */
typedef void (*pair_displaced_observer)(void *context, uint32_t row, uint32_t by);

struct pair {
	pair_observer observe; /* or NULL */
	pair_displaced_observer observe_displaced;
	void *observer;
	struct columns *columns;
	struct threads *threads;
	struct markers *markers;
	struct map_calls *map_calls; /* NULL: not wanted */
	struct totals totals;
	struct live live;
	struct pair_ring *rings;
	size_t ring_count;
	uint64_t now;	 /* time of the last event, mended */
	uint32_t last;	 /* row that the last event about a block allocated, or NO_ALLOCATION */
	bool unsure;	 /* recording was switched: ends may belong to blocks that nobody knows */
	bool overflowed; /* more allocations than columns can hold: the rest was left out */
	/* Rows of blocks that are gone are used again, so that memory is bounded by what is alive.
	 * Not at once: an inversion may bring one back. */
	bool recycle;
	uint32_t *closed; /* the last `closed_room` of them */
	uint32_t closed_room;
	uint64_t closed_count;
	/* Not NULL: allocations are given to it, and the columns are only what is alive, with
	 * these rows of the builder's. */
	struct row_builder *builder;
	uint32_t *numbers;
	uint32_t number_room;
	uint32_t *unused; /* closed before that */
	size_t unused_count, unused_room;
	bool early_end; /* the observer is told of what came before its block's allocation */
	struct {
		uint32_t row, by; /* `row` was taken for freed when its address became `by`'s */
		uint32_t ring;	  /* that allocated `by` … */
		uint64_t at;	  /* … and when */
	} displaced[PAIR_DISPLACED];
	unsigned displaced_next;
	bool any_displaced; /* ever */
	/* What ended a block before its allocation came, or belongs to none. */
	struct {
		struct event event;
		uint64_t at;
		uint32_t ring;
	} early[PAIR_EARLY];
	uint64_t early_until; /* none of them matters after this time */
	/* Where recording was switched off there are many that belong to none: what came right
	 * before an allocation at the same address is its end only if none comes later. */
	struct {
		struct event event;
		uint32_t row, ring;
	} doubts[PAIR_DOUBTS];
};

struct pair_item {
	const struct event *event;
	uint32_t ring;
};

void pair_init(struct pair *p, struct columns *columns, struct threads *threads,
	       struct markers *markers);
void pair_release(struct pair *p);
/* From now on rows are used again: for callers that look at them only while their blocks live. */
void pair_recycle(struct pair *p);
/* The same, and all of them are given to a builder, which stays the caller's. */
void pair_into(struct pair *p, struct row_builder *b);
/* Takes n events; those of one ring in that ring's order, altogether in order of time. */
void pair_events(struct pair *p, const struct pair_item *items, size_t n);
