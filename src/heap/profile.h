/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Dumps added up: stacks of named frames with estimated amounts, which every report is made of.
 *
 * Add dumps (a base with -1), then profile_finish() once.  A frame is what the user wants to see:
 * a function, a line, a file or an address; stacks that look the same then are one.  So dumps of
 * two runs are compared by what the code is called, never by where it was loaded.  One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/pattern.h"
#include "base/strings.h"
#include "heap/dump.h"
#include "heap/heap_locations.h"

struct buf;

/* Which of the four amounts is asked for. */
enum heap_measure { HEAP_INUSE_SPACE, HEAP_INUSE_OBJECTS, HEAP_ALLOC_SPACE, HEAP_ALLOC_OBJECTS };

static inline double heap_amount(const struct dump_amounts *a, enum heap_measure m)
{
	const double by_measure[] = { a->bytes, a->objects, a->all_bytes, a->all_objects };

	return by_measure[m];
}

/* The bytes and the objects of a measure: what is alive, or all there ever was. */
static inline double heap_bytes(const struct dump_amounts *a, enum heap_measure m)
{
	return m < HEAP_ALLOC_SPACE ? a->bytes : a->all_bytes;
}

static inline double heap_objects(const struct dump_amounts *a, enum heap_measure m)
{
	return m < HEAP_ALLOC_SPACE ? a->objects : a->all_objects;
}

enum profile_detail { PROFILE_FUNCTIONS, PROFILE_LINES, PROFILE_FILES, PROFILE_ADDRESSES };

#define PROFILE_ALL_THREADS UINT64_MAX

struct profile_options {
	enum profile_detail detail;
	uint64_t thread;     /* only this one's, or PROFILE_ALL_THREADS */
	bool keep_allocator; /* do not cut the allocator's own frames off */
	bool drop_negative;  /* of a difference, only what grew, by `measure` */
	enum heap_measure measure;
	bool by_thread; /* samples are of one thread each, where the dump says whose they are */
	bool whole;	/* estimates are rounded, line by line, as a profile of pprof has them */
	/* NULL, or: only stacks with such a frame; none with such a one; only such frames of a
	 * stack; all but such.  A frame is known by its function, its source and line, or its
	 * address. */
	const struct pattern *focus, *ignore, *retain, *exclude;
};

struct profile_stack {
	size_t frame, frame_count; /* in frames: numbers of names, the innermost first */
	struct dump_amounts amounts;
	size_t number; /* of its first sample's turn: for profile_stack_of() */
};

/* Where the frames of a name are. */
struct profile_origin {
	const char *module;   /* path, "" if none is known; of the first frame */
	uint32_t file;	      /* of locations' texts; 0 if none is known */
	uint32_t first, last; /* the lowest and the highest line; 0: not known */
};

struct profile {
	struct profile_options options;
	struct heap_locations locations;
	struct strings names;		/* of frames */
	struct profile_origin *origins; /* by name; module is NULL for one that is no frame */
	size_t origin_room;
	struct profile_stack *stacks;
	size_t stack_count, stack_room;
	uint32_t *frames;
	size_t frame_count, frame_room;
	struct dump_amounts total; /* of the stacks */
	struct dump_amounts whole; /* the same with those that patterns left out */

	struct profile_sample *samples; /* stacks of locations, as the dumps had them */
	size_t sample_count, sample_room;
	uint32_t *sites;
	size_t site_count, site_room;
	uint8_t *matches; /* for each frame of locations: which patterns know it */
	uint32_t *cut;	  /* for each location: how many innermost frames are the allocator's */
	uint32_t *frame_names; /* for each frame of locations: its name, once it is made */
	uint64_t rate;	       /* of the dumps; the last one's */
	size_t *order;	       /* where a stack is, by its number */
};

void profile_init(struct profile *p, const struct profile_options *options,
		  const struct heap_locations_options *where);
void profile_release(struct profile *p);
/* Adds a dump's stacks, times `sign`; nothing of it is kept. */
void profile_add(struct profile *p, const struct dump *d, double sign);
/* Before profile_finish(): of what was ever allocated, samples from `from` on keep what came since
 * the same stack's before it, 0 where it became less; those before it are taken out.  What is alive
 * stays what it is. */
void profile_keep_since(struct profile *p, size_t from);
/* Looks names up and puts equal stacks together; those with the most bytes first.  0, or -ETIMEDOUT
 * with err for a pattern that takes too long. */
int profile_finish(struct profile *p, struct err *err);

/* After profile_finish(), for callers that need each dump or each line by itself: samples are in
 * the order in which dumps were added, a line each.  Which of the stacks one is part of, or
 * PROFILE_NO_STACK: it was left out. */
#define PROFILE_NO_STACK SIZE_MAX
size_t profile_stack_of(const struct profile *p, size_t sample);
const struct dump_amounts *profile_amounts_of(const struct profile *p, size_t sample);

/* A stack in a line, "inner ← outer", with so many frames at most; and "frames": […]. */
void profile_put_stack(struct buf *out, const struct profile *p, size_t stack, size_t most);
void profile_write_frames(struct json *j, const struct profile *p, size_t stack);

/* One sample as it is shown: frames that are wanted, the innermost first. */
struct profile_walk {
	size_t count;
	size_t *frames;				/* of locations' frames */
	const struct heap_location **locations; /* that they are in */
	struct dump_amounts amounts;
	const char *thread; /* its name or number, or NULL: not known */
	size_t frame_room, location_room;
};

/* After profile_finish(): false if the sample is left out.  `w` is used again, and released once.
 */
bool profile_walk(const struct profile *p, size_t sample, struct profile_walk *w);
void profile_walk_release(struct profile_walk *w);
/* Does a pattern know a frame, by its function, its source and line, or its address?  1, 0, or
 * -ETIMEDOUT with err. */
int profile_knows(const struct profile *p, const struct pattern *pattern,
		  const struct heap_location *location, const struct heap_location_frame *f,
		  struct err *err);
/* What a location is called that has no function: the same in every run.  The caller frees it. */
char *profile_unnamed(const struct profile *p, const struct heap_location *location);
