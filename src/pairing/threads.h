/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The threads of a recording, one row per kernel id, in the order in which they were met. */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct thread {
	uint64_t tid;  /* 0: a ring that never said whose it is */
	char name[64]; /* may be empty */
};

struct threads {
	struct thread *rows;
	size_t count, room;
	struct map by_tid;
};

void threads_release(struct threads *t);
/* The row of a thread id, which is made if need be.  Beyond 2^22 of them (more than a kernel has
 * ids) all share the last one. */
uint32_t threads_row(struct threads *t, uint64_t tid);
void threads_name(struct threads *t, uint32_t row, const char *name, size_t size);
