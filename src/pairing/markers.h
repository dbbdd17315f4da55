/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The markers that a program set (include/memoir.h), in order of time.  An allocation's marker is
 * the last one at or before its own time, whichever thread set it; before any it is 0. */
#include <stddef.h>
#include <stdint.h>

struct marker {
	uint64_t stamp;
	uint32_t value;
	char *name; /* "" if it has none */
};

struct markers {
	struct marker *rows;
	size_t count, room;
};

/* Adds one, of a time not before the last one's; returns its position. */
size_t markers_add(struct markers *m, uint64_t stamp, uint32_t value, const char *name,
		   size_t size);
/* Adds a piece to the name of one. */
void markers_extend(struct markers *m, size_t position, const char *name, size_t size);
/* The value that holds at a time. */
uint32_t markers_at(const struct markers *m, uint64_t stamp);
void markers_release(struct markers *m);
