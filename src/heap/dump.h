/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A heap profile dump as its writer meant it: jemalloc 3 to 5, gperftools, and either of them
 * behind a table of symbols (what jeprof calls symbolized).
 *
 * Numbers are the file's own, not scaled: dump_scale() makes estimates of one line's numbers, which
 * has to happen before lines are added up.  Everything is owned by the struct and stays where it is
 * until dump_release(). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DUMP_BUILD_ID_MAX 64 /* bytes */

/* What one line says. */
struct dump_counts {
	uint64_t objects, bytes;	 /* alive */
	uint64_t all_objects, all_bytes; /* ever; 0 where the program did not keep that */
};

/* The same, as estimates of what there really was. */
struct dump_amounts {
	double objects, bytes, all_objects, all_bytes;
};

struct dump_thread {
	uint64_t uid;	  /* jemalloc's own number */
	const char *name; /* NULL: it has none */
	struct dump_counts counts;
};

/* A line of one thread below a stack. */
struct dump_share {
	uint64_t thread;
	struct dump_counts counts;
};

struct dump_stack {
	size_t pc, pc_count; /* in pcs: the innermost first */
	size_t share, share_count;
	struct dump_counts counts;
};

struct dump_map {
	uint64_t start, end, offset, inode;
	bool executable;
	const char *path; /* "" for anonymous memory; without " (deleted)" */
	bool deleted;
	/* What the dump's objects say of it. */
	const char *build_id; /* hexadecimal; "" if it is not known */
	bool has_bias;
	uint64_t bias; /* between its addresses and those of the file */
};

/* A loaded file, as our agent adds them behind the maps. */
struct dump_object {
	uint64_t start, bias;
	const struct dump_map *map; /* that it starts in, once all are read; NULL: none */
	const char *build_id;	    /* as above */
};

/* What a symbolized file says about an address: names, the outermost first.  jeprof names the place
 * of the call, a byte before where it returns to. */
struct dump_name {
	uint64_t pc;
	const char *names; /* joined by "--", as they are in the file */
};

enum dump_kind {
	DUMP_THREADED, /* heap_v2/RATE: jemalloc 4 and later */
	DUMP_PLAIN,    /* heap profile: …: jemalloc 3, gperftools */
};

struct dump {
	enum dump_kind kind;
	uint64_t rate; /* a sample every so many bytes; 0 or 1: everything was counted */
	bool growth;   /* gperftools: how the heap grew, not what is alive */
	struct dump_counts total;

	struct dump_thread *threads;
	size_t thread_count, thread_room;
	struct dump_stack *stacks;
	size_t stack_count, stack_room;
	struct dump_share *shares;
	size_t share_count, share_room;
	uint64_t *pcs;
	size_t pc_count, pc_room;
	struct dump_map *maps;
	size_t map_count, map_room;
	struct dump_object *objects; /* by start, as the maps are */
	size_t object_count, object_room;
	struct dump_name *names;
	size_t name_count, name_room;
	size_t body;	    /* where the profile begins: behind the symbols, if there are any */
	const char *binary; /* what a symbolized file is of, or NULL */
	char *text;	    /* the texts above are in it */
};

/* Takes `size` bytes (copied).  0, or -EBADMSG with err; what was read until then is there, so that
 * a cut dump is still of use. */
int dump_read(struct dump *d, const void *bytes, size_t size, struct err *err);
/* Maps alone, as /proc/PID/maps has them: a dump without stacks.  The same. */
int dump_read_maps(struct dump *d, const char *maps, size_t size, struct err *err);
/* The maps that a program has which is always loaded at the same address; false: it is none. */
bool dump_read_program(struct dump *d, const char *path);
void dump_release(struct dump *d);
/* Does it look like the beginning of a dump? */
bool dump_is(const void *bytes, size_t size);
/* One line's numbers as estimates; `rate` is the dump's. */
struct dump_amounts dump_scale(const struct dump_counts *counts, uint64_t rate);
void dump_amounts_add(struct dump_amounts *to, const struct dump_amounts *from, double sign);
/* The map that an address is in, or NULL. */
const struct dump_map *dump_map_of(const struct dump *d, uint64_t pc);
