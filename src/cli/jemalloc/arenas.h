/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Arenas over time, as jemabs, jemdel and jemeff see them: for each snapshot the bytes allocated,
 * active and mapped of each arena; and the words and numbers of these three. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { ARENAS_TOTAL, ARENAS_ACTIVE, ARENAS_MAPPED, ARENAS_VALUES };

struct arenas_row {
	uint64_t id;
	uint64_t value[ARENAS_VALUES]; /* STATS_NONE: not said */
};

struct arenas_iteration {
	size_t first, count; /* of `arenas`, in ascending order */
};

struct arenas {
	const char *command; /* for messages */
	struct arenas_row *arenas;
	size_t arena_count, arena_room;
	struct arenas_iteration *iterations;
	size_t count, room;
	int status;	    /* 1 when something in the file could not be read */
	uint64_t threshold; /* bytes */
	uint64_t number[3]; /* what follows the threshold on the line */
	unsigned number_count;
};

/* The words behind the command. */
struct arenas_arguments {
	const char *path;
	bool threshold_given;
	uint64_t threshold; /* bytes */
	uint64_t number[3];
	unsigned number_count;
};

/* `{FILE} {THRESHOLD {NUMBER …}}`, at most `numbers` of them; 0, or an exit status. */
int arenas_arguments(struct arenas_arguments *a, const char *command, int argc, char **argv,
		     unsigned numbers);
/* Reads `{FILE} {THRESHOLD {NUMBER …}}` and the file; at most `numbers` of them.  FILE is a file
 * with statistics or one that extract-jem-stats made, with or without its .py; by default jemdata.
 * 0, or an exit status. */
int arenas_load(struct arenas *s, const char *command, int argc, char **argv, unsigned numbers);
void arenas_release(struct arenas *s);
/* [from, to) is inside the series; says so if it is not. */
bool arenas_range(const struct arenas *s, uint64_t from, uint64_t to);
/* Whether all three values are there; says so if one is not. */
bool arenas_whole(const struct arenas *s, size_t iteration, const struct arenas_row *a);
/* The arena in an iteration, or NULL. */
const struct arenas_row *arenas_find(const struct arenas *s, size_t iteration, uint64_t id);
bool arenas_passes(const struct arenas *s, int64_t value);
/* "2.05078125 GB" */
void arenas_size(struct buf *out, int64_t bytes);
/* "75.0%" */
void arenas_share(struct buf *out, uint64_t part, uint64_t whole);
/* "200 MB": whole ones, rounded down. */
void arenas_threshold(struct buf *out, const struct arenas *s);

/* The whole of a command that prints the arenas of some iterations, each under a line that starts
 * with `title`: arguments FILE MIB START END.  Returns the exit status. */
int arenas_print(const char *command, int argc, char **argv, const char *title,
		 void (*print)(struct buf *out, const struct arenas *s,
			       const struct arenas_row *arena));
