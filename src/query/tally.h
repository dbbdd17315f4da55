/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What each stack holds now and has allocated, lately and ever, and the curve of live bytes.
 *
 * Filled in one of two ways.  Who follows a recording that grows hands each event on as it is
 * loaded (tally_observe() as model_options.observe), so that a look at it costs what is new and
 * memory is bounded by stacks; of a loaded recording tally_whole() takes what the model knows.
 *
 * "Lately" is a window of time before now.  Following, it is made of two halves: the one that is
 * being filled, and the one before; so it is between a half and all of what was asked for.
 *
 * One thread at a time. */
#include <stdbool.h>
#include <stdint.h>

#include "pairing/pair.h"
#include "query/map_totals.h"
#include "query/view.h"

#define TALLY_POINTS 1024

struct responsible;

struct tally_recent {
	uint64_t allocations, bytes; /* allocated */
	int64_t change;		     /* of what is held */
};

struct tally_row {
	uint32_t stack, call; /* of its first allocation */
	/* What answer/top.c found out about it: a location plus one; 0: nothing yet. */
	uint32_t location, frame;
	uint64_t held_bytes, held_count;
	uint64_t allocations, allocated_bytes, temporary;
	uint64_t min_size, max_size; /* of what was followed */
	/* The same of what was removed from a recording that is followed. */
	uint64_t removed_allocations, removed_bytes, removed_temporary;
	uint32_t half; /* the half of the window that recent[0] is of; recent[1]: the one before */
	struct tally_recent recent[2];
};

struct tally {
	const struct model *model;
	struct tally_row *rows;
	size_t count, room;
	uint32_t *row_of; /* by node: a row plus one */
	uint32_t node_count;
	struct tally_row all; /* of every stack */
	uint64_t *held;	      /* a bit for each row of the columns: is it counted as held? */
	size_t held_words;
	uint64_t window_ns;
	uint32_t half;					/* the number of the one being filled */
	uint64_t half_from, half_before_from, half_end; /* stamps */
	uint64_t now;					/* stamp of the last thing known */
	/* The most that was held within steps of equal length; doubled when there is no room. */
	uint64_t curve[TALLY_POINTS];
	uint32_t curve_count; /* the last one is being filled */
	uint64_t curve_from, curve_step, curve_end;
	struct map_totals maps;
	/* Whose the stacks of a recording that is followed are, when it had so many of them, of
	 * allocations and of nodes; what answer/top.c has found out. */
	struct responsible *responsible;
	size_t judged_stacks;
	uint64_t judged_allocations;
	uint32_t judged_nodes;
};

void tally_init(struct tally *t, const struct model *m, uint64_t window_ns);
void tally_release(struct tally *t);
/* Others are the names now: what was found out by them is found out anew. */
void tally_forget_names(struct tally *t);
/* pair_observer and pair_displaced_observer; the context is the tally. */
void tally_observe(void *tally, const struct event *e, uint32_t ring, uint64_t at, uint32_t row);
void tally_observe_displaced(void *tally, uint32_t row, uint32_t by);
/* After model_load(), or as time goes by without events. */
void tally_advance(struct tally *t, uint64_t stamp);
/* Everything of a finished recording, as it was at its end. */
void tally_whole(struct tally *t, const struct view *v, uint64_t window_ns);

/* What a stack, or all, did within the window; and how long that is. */
struct tally_recent tally_recent(const struct tally *t, const struct tally_row *row);
uint64_t tally_window_ns(const struct tally *t);
