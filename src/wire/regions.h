/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The payload of CHUNK_REGIONS: what one sample of the program's memory maps (/proc/PID/smaps) has
 * found that is different from the sample before.
 *
 * varint stamp when the sample began, varint ticks that it took; then records, each a varint kind
 * and varints, the name counted:
 *
 * ADD     number, start, length, offset in the file, inode, major and minor number of its device,
 *         flags (enum map_flags), name
 * USAGE   number, then KiB: rss, shared clean, shared dirty, private clean, private dirty,
 *         anonymous, swap.  All are 0 before the first
 * REMOVE  number
 *
 * A region is a piece of the address space that is in one mapping of the kernel's and in one of the
 * program's.  Numbers are given once.  A sample that does not fit into one chunk goes on in the
 * next, with the same stamps. */
#include <stdint.h>

enum regions_kind { REGIONS_ADD = 1, REGIONS_USAGE, REGIONS_REMOVE };

/* In the order of the file. */
#define REGIONS_USAGES(X)                                                                          \
	X(rss)                                                                                     \
	X(shared_clean)                                                                            \
	X(shared_dirty)                                                                            \
	X(private_clean)                                                                           \
	X(private_dirty)                                                                           \
	X(anonymous)                                                                               \
	X(swap)

struct region_usage {
#define X(name) uint64_t name;
	REGIONS_USAGES(X)
#undef X
};
#define REGION_USAGE_COUNT (sizeof(struct region_usage) / sizeof(uint64_t))
#define REGION_USAGE_MAX ((uint64_t)1 << 42) /* KiB: more than an address space has */
#define REGION_ADDRESS_MAX ((uint64_t)1 << 57)
