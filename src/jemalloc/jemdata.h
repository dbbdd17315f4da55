/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* jemdata.py: what extract-jem-stats made of a log, a call in each line.
 *
 *   arenas('sum')     begins an iteration; what follows is of all arenas
 *   arenas(3)         what follows is of this arena
 *   total(4096)       and active(), mapped(): bytes
 */
#include "jemalloc/snapshots.h"

struct sink;

struct jemdata_taker {
	void *context;
	void (*iteration)(void *context);
	void (*arena)(void *context, uint64_t id);
	void (*value)(void *context, bool of_all, enum stats_arena_field field, uint64_t bytes);
};

/* 0, or -errno with err; -ENODATA: it has no iteration. */
int jemdata_read(const char *path, const struct jemdata_taker *to, struct err *err);
/* Writes what the old tool would, to the byte.  0, or -errno with err; what was before the damage
 * is written. */
int jemdata_write(struct snapshots *r, struct sink *out, struct err *err);
