/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regions at a sample.  See seen_regions.h. */
#include "model/seen_regions.h"

#include "base/order.h"
#include "base/xalloc.h"
#include "recording/payload.h"
#include "wire/pages.h"

#define KIB 1024

void seen_regions_init(struct seen_regions *s, const struct regions *from)
{
	*s = (struct seen_regions){ .from = from };
}

void seen_regions_release(struct seen_regions *s)
{
	map_release(&s->by_number);
	map_release(&s->runs);
	free(s->all);
	free(s->list);
}

static struct seen_region *region_of(struct seen_regions *s, uint64_t number)
{
	uint64_t place;

	/* Nothing in a file is believed: a region that never appeared, or is gone. */
	if (!map_get(&s->by_number, number, &place) || s->all[place].gone)
		return NULL;
	return &s->all[place];
}

static void region_appears(struct seen_regions *s, const struct map_sample_record *record)
{
	const struct region_found *f = &record->found;
	uint64_t place;

	if (map_number(&s->by_number, record->number, &place))
		*xpush(s->all, s->all_count, s->all_room) =
			(struct seen_region){ .number = record->number,
					      .start = f->start,
					      .end = f->start + f->length,
					      .found = f,
					      .first = s->samples == 0 };
}

static void take_sample(struct seen_regions *s, const struct map_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++) {
		const struct map_sample_record *record = &s->from->records[sample->first + i];
		struct seen_region *r;

		if (record->kind == REGIONS_ADD) {
			region_appears(s, record);
			continue;
		}
		r = region_of(s, record->number);
		if (!r)
			continue;
		if (record->kind == REGIONS_REMOVE) {
			r->gone = true;
			continue;
		}
#define X(name) r->usage.name = record->usage.name * KIB;
		REGIONS_USAGES(X)
#undef X
	}
}

static uint64_t stretch_key(uint64_t number, uint64_t first)
{
	return number << 24 ^ first / PAGES_STRETCH;
}

static void take_pages(struct seen_regions *s)
{
	for (; s->pages < s->from->pages_count; s->pages++) {
		const struct region_pages *p = &s->from->pages[s->pages];
		struct seen_region *r;

		if (p->at > s->at)
			break;
		r = region_of(s, p->number);
		if (r && p->first == UINT64_MAX)
			r->huge = p->size * KIB;
		else if (r)
			map_set(&s->runs, stretch_key(p->number, p->first), s->pages);
	}
}

ORDER(by_start, struct seen_region, RISING(start) ?: RISING(number))

void seen_regions_advance(struct seen_regions *s, size_t sample)
{
	size_t remaining = 0;

	for (; s->samples <= sample && s->samples < s->from->sample_count; s->samples++) {
		take_sample(s, &s->from->samples[s->samples]);
		s->at = s->from->samples[s->samples].ended;
	}
	take_pages(s);
	s->count = 0;
	for (size_t i = 0; i < s->all_count; i++)
		if (!s->all[i].gone)
			*xpush(s->list, s->count, s->room) = s->all[i];
	SORT(s->list, s->count, by_start);
	/* What overlaps was never at one time. */
	for (size_t i = 0; i < s->count; i++)
		if (!remaining || s->list[remaining - 1].end <= s->list[i].start)
			s->list[remaining++] = s->list[i];
	s->count = remaining;
}

bool seen_regions_resident(const struct seen_regions *s, const struct seen_region *r, seen_run *run,
			   void *context)
{
	uint64_t at = r->start, place;

	if (r->usage.rss >= r->end - r->start) {
		run(context, r->start, r->end);
		return true;
	}
	while (at < r->end) {
		const struct region_pages *p;
		struct payload_reader c;
		bool resident = false;
		uint64_t pages, first;

		if (!s->from->pages_count)
			return false;
		first = (at - r->start) / s->from->pages[0].page;
		if (!map_get(&s->runs, stretch_key(r->number, first), &place))
			return at > r->start;
		p = &s->from->pages[place];
		c.p = s->from->page_bytes + p->runs;
		c.end = c.p + p->size;
		for (first = at; c.p < c.end && payload_get(&c, &pages); resident = !resident) {
			uint64_t end = MIN(r->end, at + pages * p->page);

			if (resident && end > at)
				run(context, at, end);
			at = end;
		}
		if (at == first)
			break;
	}
	return true;
}
