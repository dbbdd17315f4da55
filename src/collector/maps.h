/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* /proc/PID/maps, read whole into memory that is kept for the next time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, offset, inode;
	uint64_t device; /* as stat has it */
	bool executable;
	bool deleted;
	const char *path; /* "" if none; good until the text is read again */
};

struct maps {
	char *text;
	size_t size, room;
	struct mapping *list; /* by address */
	size_t count, list_room;
};

/* 0 or -errno; -ENODATA for a process that has no memory any more.  What was read before stays as
 * it was if nothing can be read now. */
int maps_read(struct maps *m, pid_t pid);
/* The mapping that holds an address, or NULL. */
const struct mapping *maps_find(const struct maps *m, uint64_t address);
/* The file that is mapped there, as the program sees it: a descriptor, or -1. */
int maps_open(const struct mapping *m, pid_t pid);
void maps_release(struct maps *m);
