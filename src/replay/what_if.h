/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What could be otherwise in a replay: an allocator that gives memory back (trim), that has fewer
 * arenas (arena-max=N), gives memory back sooner (decay=TIME), or is another one (allocator=LIB);
 * several with commas between.  Each becomes an allocator with its settings. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "replay/allocator.h"
#include "replay/plan.h"

#define DECAY_NONE UINT64_MAX

struct what_if {
	struct allocator allocator;
	enum plan_trim trim;
	uint64_t decay_ns; /* DECAY_NONE: as the allocator has it */
};

/* 0, or -EINVAL or -ENOENT with err.  `as_it_is` is what is changed; `text` as people write it. */
int what_if_parse(struct what_if *w, const char *text, const struct allocator *as_it_is,
		  struct err *err);
void what_if_release(struct what_if *w);
/* A replay makes calls faster than the program did: what it waits for is so much sooner.  Sets the
 * decay time of jemalloc's unused pages. */
void what_if_set_decay(struct allocator *a, uint64_t decay_ns, double faster);
bool what_if_is_jemalloc(const struct allocator *a);
/* Does a setting of its own say when memory is given back? */
bool what_if_has_decay(const struct allocator *a);
