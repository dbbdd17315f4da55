/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The payload of CHUNK_PAGES: which pages of regions (regions.h) are resident, where a region is so
 * in part, as /proc/PID/pagemap has it just after a sample.
 *
 * varint stamp when the sample ended, varint size of a page; then records, each a varint kind and
 *varints:
 *
 * RESIDENT  the region's number, first page in it, pages, runs; then the runs: how many pages are
 *	     not resident, how many are, and so on.  What a record says holds until the next one of
 *	     the same region and first page
 * HUGE      the region's number, KiB of it that are in huge pages; 0 before the first
 *
 * A region that smaps says is resident as a whole, or not at all, needs no record, and an older one
 * does not count then.  Of one that is very large nothing is written.  A reader that does not know
 * the chunk loses the pages only. */

enum pages_kind { PAGES_RESIDENT = 1, PAGES_HUGE };

/* Pages in a record at most: first pages are multiples of it. */
#define PAGES_STRETCH 8192u
