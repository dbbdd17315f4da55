/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the collector saw of the program's memory maps, sample by sample, as it is in the recording.
 * map_history.h makes sense of it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "wire/regions.h"

struct region_found {
	uint64_t start, length, offset, inode;
	uint32_t major, minor;
	uint32_t name; /* in regions.names */
	uint8_t flags; /* enum map_flags */
};

struct map_sample_record {
	uint8_t kind; /* enum regions_kind */
	uint64_t number;
	union {
		struct region_found found; /* REGIONS_ADD */
		struct region_usage usage; /* REGIONS_USAGE, KiB */
	};
};

struct map_sample {
	uint64_t began, ended; /* stamps */
	size_t first, count;   /* records */
};

/* What was seen of single pages (wire/pages.h), in order of time. */
struct region_pages {
	uint64_t at, number; /* stamp; the region's */
	uint64_t first;	     /* page in the region; UINT64_MAX: `size` is KiB in huge pages */
	uint64_t size;	     /* bytes of `runs`, which are varints */
	size_t runs;	     /* in page_bytes */
	uint32_t page;	     /* its size */
};

struct regions {
	struct region_pages *pages;
	size_t pages_count, pages_room;
	uint8_t *page_bytes;
	size_t page_bytes_count, page_bytes_room;
	struct map_sample *samples;
	size_t sample_count, sample_room;
	struct map_sample_record *records;
	size_t record_count, record_room;
	struct strings names;
	bool named; /* names is initialised */
};

/* Takes a chunk's payload; false if it is malformed. */
bool regions_add(struct regions *r, const uint8_t *bytes, size_t size);
bool regions_add_pages(struct regions *r, const uint8_t *bytes, size_t size);
const char *regions_name(const struct regions *r, uint32_t name);
void regions_release(struct regions *r);
