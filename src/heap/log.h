/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What jemalloc's profiler writes about single blocks: the log of prof.log_start and prof.log_stop
 * (blocks that were freed meanwhile), and experimental.prof_recent.alloc_dump (the last ones that
 * were allocated, alive or not).
 *
 * Both are JSON, and both have addresses without maps; our agent adds those.  Everything is owned
 * by the struct; every index leads inside. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/strings.h"

#define LOG_NONE UINT32_MAX

struct log_thread {
	uint64_t uid;  /* jemalloc's own number */
	uint32_t name; /* of texts; 0: none */
};

struct log_trace {
	size_t pc, pc_count; /* in pcs: the innermost first */
};

struct log_block {
	uint32_t thread, trace;		  /* that allocated it */
	uint32_t free_thread, free_trace; /* LOG_NONE: not known, or alive */
	bool freed;
	uint64_t bytes; /* that it takes */
	uint64_t born_ns, freed_ns;
};

struct log {
	bool recent;	     /* the last blocks, not those that were freed */
	uint64_t rate;	     /* a sample every so many bytes; 0: not said */
	uint64_t recent_max; /* blocks that are kept, where `recent` */
	uint64_t pid, duration_ns;
	uint32_t version, resolution; /* of texts; 0: not said */
	struct strings texts;
	struct log_thread *threads;
	size_t thread_count, thread_room;
	struct log_trace *traces;
	size_t trace_count, trace_room;
	uint64_t *pcs;
	size_t pc_count, pc_room;
	struct log_block *blocks;
	size_t block_count, block_room;
	char *maps;	  /* lines as /proc/PID/maps has them, or NULL */
	struct map index; /* of threads by number, and of traces by a hash, where `recent` */
};

/* 0, or -EBADMSG with err and the offset in it; what was read until then is there. */
int log_read(struct log *l, const void *bytes, size_t size, struct err *err);
void log_release(struct log *l);
/* How long a block lived; one that was freed before it was born, by clocks, not at all. */
uint64_t log_life_ns(const struct log_block *b);
