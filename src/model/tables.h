/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Everything in a recording that is not an event: what the program was, its modules, the nodes of
 * its stacks, clock readings, counters, embedded files.
 *
 * Filled from chunks by tables_add(), one at a time in the order of the file; later ones win. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "model/known.h"
#include "model/regions.h"
#include "model/removed.h"
#include "pairing/map_calls.h"
#include "pairing/markers.h"
#include "pairing/threads.h"
#include "recording/reader.h"

struct info_pair {
	char *key, *value; /* the value may hold NULs; one more follows */
	size_t size;
};

struct clock_reading {
	uint64_t stamp, monotonic_ns, realtime_ns;
};

struct module {
	bool known;
	uint64_t bias, start, end, stamp;
	uint8_t build_id[64];
	size_t build_id_size;
	char *path;
};

struct counter {
	char *name;
	uint64_t value;
};

/* An embedded file and where its pieces are; the bytes stay in the recording until asked for. */
struct file_piece {
	uint64_t chunk_offset, offset, size;
};

struct embedded_file {
	uint64_t number, total_size, held_size;
	uint8_t build_id[64];
	size_t build_id_size;
	char *path;
	char *key; /* beside the recording: see shared_file.h; NULL: in it, as pieces */
	struct file_piece *pieces;
	size_t piece_count, piece_room;
};

/* Stacks: node i's frame, and the next one outwards.  Node 0 is the root. */
#define NODE_ADDRESS_BITS 48
#define NODE_ADDRESS_MASK ((1ull << NODE_ADDRESS_BITS) - 1)
/* Ids are given out one by one, so a file may leave at most this many out at a time. */
#define NODE_GAP_MAX (1u << 20)

struct nodes {
	uint64_t *frame;  /* address : 48, module : 16; 0 while the node is not known */
	uint32_t *parent; /* smaller than the node's own id */
	uint8_t *flags;	  /* enum shm_node_flags */
	uint32_t count;	  /* one more than the highest id */
	uint32_t known;	  /* ids that were really in the file */
	uint32_t room;
};

struct tables {
	struct info_pair *info;
	size_t info_count, info_room;
	struct clock_reading first_clock, last_clock;
	uint64_t clock_count;
	struct module *modules; /* by index; 0 is never used */
	size_t module_count, module_room;
	struct nodes nodes;
	struct counter *counters;
	size_t counter_count, counter_room;
	struct embedded_file *files;
	size_t file_count, file_room;
	struct map files_by_number;
	struct threads threads;
	struct removed removed;
	struct known known;
	struct markers markers;	    /* filled by pair.c: they are events */
	struct map_calls map_calls; /* the same */
	struct regions regions;
};

/* Takes an unpacked chunk, of whatever type but CHUNK_EVENTS; false if its payload is not what the
 * type asks for. */
bool tables_add(struct tables *t, const struct chunk *c, struct err *err);
/* A counter, or 0. */
uint64_t tables_counter(const struct tables *t, const char *name);
/* How much of a chunk tables_add() needs to see: all but an embedded file's bytes. */
size_t tables_head_size(const struct chunk *c);
void tables_release(struct tables *t);
