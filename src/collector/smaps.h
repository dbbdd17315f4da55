/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The text of /proc/PID/smaps: a line like that of maps for each mapping, and lines with figures.
 *
 * Pure functions on bytes that may be anything; nothing is changed and nothing is copied. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/regions.h"

#define SMAPS_NAME_MAX 4096 /* what is longer is cut */

struct smaps_entry {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	uint8_t flags;	  /* enum map_flags */
	const char *name; /* not ended by a NUL */
	size_t name_size;
	struct region_usage usage; /* KiB */
	uint64_t huge;		   /* KiB in huge pages */
};

/* The next mapping from *at on, which is moved behind it; false when there are no more.  Lines that
 * make no sense are passed over. */
bool smaps_next(const char **at, const char *end, struct smaps_entry *ret_entry);
