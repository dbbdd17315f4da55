/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes which pages are resident.  See pages.h.
 *
 * A region is looked at in stretches of PAGES_STRETCH pages.  What was written of each is
 * remembered as a hash, so that a program that stands still costs reads and no bytes. */
#include "collector/pages.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/map.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "collector/clock.h"
#include "collector/collector.h"
#include "wire/pages.h"

#define RECORD_BYTES ((5 + PAGES_STRETCH + 1) * VARINT_MAX)
#define HASH_MASK (UINT64_MAX >> 1)
#define DRAIN_NS 5000000ull /* the program's threads must not wait for a sample */

struct pages_writer {
	struct collector *collector;
	struct pagemap pagemap;
	bool readable;
	struct map written; /* what a stretch, or a region's huge pages, looked like last */
	uint64_t stamp;
	uint64_t drained_ns;
	bool begun; /* a chunk */
	uint32_t runs[PAGES_STRETCH + 2];
	uint32_t run_count;
};

struct pages_writer *pages_writer_new(struct collector *c)
{
	struct pages_writer *w = xcalloc(1, sizeof(*w));

	w->collector = c;
	w->pagemap.fd = -1;
	return w;
}

struct pages_writer *pages_writer_free(struct pages_writer *w)
{
	if (!w)
		return NULL;
	pagemap_close(&w->pagemap);
	free(w->pagemap.entries);
	map_release(&w->written);
	free(w);
	return NULL;
}

void pages_begin(struct pages_writer *w, uint64_t stamp)
{
	w->readable = pagemap_open(&w->pagemap, w->collector);
	w->stamp = stamp;
	w->drained_ns = now_ns();
	w->begun = false;
}

struct pagemap *pages_map(struct pages_writer *w)
{
	return w->readable ? &w->pagemap : NULL;
}

static void end_chunk(struct pages_writer *w)
{
	struct payload *p = &w->collector->payload;

	if (w->begun)
		recording_write(&w->collector->recording, CHUNK_PAGES, EFFORT_REST, p->data,
				p->used, 0);
	w->begun = false;
}

void pages_end(struct pages_writer *w)
{
	end_chunk(w);
	pagemap_close(&w->pagemap);
}

/* Draining needs the payload, too. */
static void keep_up(struct pages_writer *w)
{
	if (now_ns() - w->drained_ns < DRAIN_NS)
		return;
	end_chunk(w);
	drain_pass(w->collector);
	w->drained_ns = now_ns();
}

static struct payload *room_for_record(struct pages_writer *w)
{
	struct payload *p = &w->collector->payload;

	if (w->begun && !payload_fits(p, RECORD_BYTES))
		end_chunk(w);
	if (!w->begun) {
		p->used = 0;
		payload_number(p, w->stamp);
		payload_number(p, w->pagemap.page_size);
		w->begun = true;
	}
	return p;
}

/* Is it different from what was written last under this key? */
static bool has_changed(struct pages_writer *w, uint64_t number, uint64_t part, uint64_t content)
{
	uint64_t key = XXH3_64bits_withSeed(&number, sizeof(number), part), last;

	content &= HASH_MASK;
	if (map_get(&w->written, key, &last) && last == content)
		return false;
	map_set(&w->written, key, content);
	return true;
}

/* The runs of the entries that were read last; `exclusive`: of pages that nobody else has. */
static uint64_t find_runs(struct pages_writer *w, bool exclusive)
{
	const struct pagemap *p = &w->pagemap;
	uint64_t resident = 0;
	bool last = false;

	w->run_count = 1;
	w->runs[0] = 0;
	for (size_t i = 0; i < p->count; i++) {
		bool is = pagemap_present(p->entries[i]) &&
			  (!exclusive || pagemap_exclusive(p->entries[i]));

		if (is != last)
			w->runs[w->run_count++] = 0;
		w->runs[w->run_count - 1]++;
		resident += is;
		last = is;
	}
	return resident;
}

static void write_stretch(struct pages_writer *w, uint64_t number, uint64_t first)
{
	struct payload *p;

	if (!has_changed(w, number, first + 1,
			 XXH3_64bits_withSeed(w->runs, w->run_count * sizeof(*w->runs),
					      w->pagemap.count)))
		return;
	p = room_for_record(w);
	payload_number(p, PAGES_RESIDENT);
	payload_number(p, number);
	payload_number(p, first);
	payload_number(p, w->pagemap.count);
	payload_number(p, w->run_count);
	for (uint32_t i = 0; i < w->run_count; i++)
		payload_number(p, w->runs[i]);
}

/* How many pages are resident, and how many of those are nobody else's. */
static bool count_region(struct pages_writer *w, uint64_t page, uint64_t end, uint64_t *ret_present,
			 uint64_t *ret_exclusive)
{
	const struct pagemap *p = &w->pagemap;

	for (*ret_present = *ret_exclusive = 0; page < end; page += p->count) {
		if (!pagemap_read(&w->pagemap, page, end))
			return false;
		keep_up(w);
		for (size_t i = 0; i < p->count; i++) {
			bool present = pagemap_present(p->entries[i]);

			*ret_present += present;
			*ret_exclusive += present && pagemap_exclusive(p->entries[i]);
		}
	}
	return true;
}

static void write_huge(struct pages_writer *w, const struct pages_region *r)
{
	uint64_t last;
	struct payload *p;

	/* Most never have any. */
	if (!r->huge && !map_get(&w->written, XXH3_64bits_withSeed(&r->number, 8, 0), &last))
		return;
	if (!has_changed(w, r->number, 0, r->huge))
		return;
	p = room_for_record(w);
	payload_number(p, PAGES_HUGE);
	payload_number(p, r->number);
	payload_number(p, r->huge);
}

void pages_region(struct pages_writer *w, const struct pages_region *r)
{
	struct pagemap *p = &w->pagemap;
	uint64_t present, exclusive, wanted;
	bool only_exclusive = false;

	write_huge(w, r);
	if (!w->readable || !r->rss || r->rss * 1024 >= r->end - r->start ||
	    r->end - r->start > PAGEMAP_REGION_MAX)
		return;
	wanted = r->rss * 1024 / p->page_size;
	/* Zero pages that were only read are present, and not resident. */
	if (r->end - r->start <= PAGES_STRETCH * p->page_size) {
		if (!pagemap_read(p, r->start / p->page_size, r->end / p->page_size))
			return;
		only_exclusive = find_runs(w, false) > wanted && find_runs(w, true) >= wanted;
	} else if (count_region(w, r->start / p->page_size, r->end / p->page_size, &present,
				&exclusive)) {
		only_exclusive = present > wanted && exclusive >= wanted;
	}
	for (uint64_t page = r->start / p->page_size, end = r->end / p->page_size; page < end;
	     page += p->count) {
		uint64_t first = page - r->start / p->page_size;

		keep_up(w);
		if (!pagemap_read(p, page, MIN(end, page + PAGES_STRETCH)))
			return;
		find_runs(w, only_exclusive);
		write_stretch(w, r->number, first);
		/* A short answer would put the next stretch where none begins. */
		if (p->count < PAGES_STRETCH && page + p->count < end)
			return;
	}
}
