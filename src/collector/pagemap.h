/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* /proc/PID/pagemap: which pages of the program are resident.  For samples of its maps
 * (regions.h), on the collector's thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;

struct pagemap {
	int fd;
	size_t page_size;
	uint64_t *entries; /* PAGEMAP_AT_ONCE of them */
	size_t count;	   /* that were read last */
};
#define PAGEMAP_AT_ONCE 8192u
/* Regions that are larger are not looked at page by page: 16 TiB of a sanitizer's shadow memory
 * have 32 GiB of entries, nearly all of them empty, and the program would wait meanwhile. */
#define PAGEMAP_REGION_MAX (64ull << 30)

/* False where it cannot be opened. */
bool pagemap_open(struct pagemap *p, const struct collector *c);
void pagemap_close(struct pagemap *p);
/* Reads the entries of up to PAGEMAP_AT_ONCE pages from `page` on; false where the kernel does not
 * tell. */
bool pagemap_read(struct pagemap *p, uint64_t page, uint64_t end);

static inline bool pagemap_present(uint64_t entry)
{
	return entry >> 63;
}

static inline bool pagemap_swapped(uint64_t entry)
{
	return entry >> 62 & 1;
}

/* Nobody else has the page: the zero page, which counts as present and not as resident, is
 * everybody's. */
static inline bool pagemap_exclusive(uint64_t entry)
{
	return entry >> 56 & 1;
}
