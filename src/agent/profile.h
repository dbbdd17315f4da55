/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A heap profile dump of jemalloc 4 and 5 as stacks with estimated amounts, in mapped memory.
 *
 * The agent's own small reader: src/heap, which reads every dump and names everything, needs the
 * host side's libraries.  Both follow the same formula, line by line. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/text.h"

struct profile_sample {
	size_t pc, pc_count; /* in pcs: the innermost first */
	double value[4];     /* ever: objects, bytes; alive: objects, bytes */
	uint64_t block;	     /* mean size */
};

struct profile {
	struct text pcs;     /* uint64_t */
	struct text samples; /* struct profile_sample */
	size_t sample_count;
	uint64_t rate;
	bool accum; /* what was ever allocated is there too */
	bool failed;
	const char *maps; /* in the dump */
	size_t maps_size;
};

/* `strip`: leave out frames inside the allocator's library (jemalloc.h), at the inner end. */
void profile_read(struct profile *p, const char *dump, size_t size, bool strip);
/* Takes away what was there before; stacks of only that become negative. */
void profile_subtract(struct profile *p, const struct profile *before);
void profile_release(struct profile *p);
