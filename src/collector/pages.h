/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which pages are resident of the regions that a sample of maps has shown to be resident in part
 * (wire/pages.h).  A part of regions.c, on the collector's thread. */
#include <stdint.h>

#include "collector/pagemap.h"

struct collector;
struct pages_writer;

struct pages_region {
	uint64_t number, start, end;
	uint64_t rss, huge; /* KiB */
};

struct pages_writer *pages_writer_new(struct collector *c);
struct pages_writer *pages_writer_free(struct pages_writer *w);
/* A sample: begin, each region, end.  `stamp` is when the sample ended. */
void pages_begin(struct pages_writer *w, uint64_t stamp);
void pages_region(struct pages_writer *w, const struct pages_region *r);
void pages_end(struct pages_writer *w);
/* The pagemap that is open between the two, or NULL. */
struct pagemap *pages_map(struct pages_writer *w);
