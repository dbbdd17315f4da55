/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums of memory maps, sample by sample.  See map_totals.h. */
#include "query/map_totals.h"

#include "base/xalloc.h"
#include "pairing/pair.h"

#define KIB 1024

static void region_appears(struct map_totals *t, uint64_t number, const struct region_found *f)
{
	*xpush(t->rows, t->count, t->room) =
		(struct map_total){ .length = f->length, .own = !!(f->flags & MAP_IS_OWN) };
	map_set(&t->by_number, number, t->count);
	if (!(f->flags & MAP_IS_OWN))
		t->address_space += f->length;
}

static void region_uses(struct map_totals *t, struct map_total *row, uint64_t rss)
{
	if (!row->own)
		t->rss += rss - row->rss;
	row->rss = rss;
}

static void take_record(struct map_totals *t, const struct map_sample_record *record)
{
	struct map_total *row;
	uint64_t position;

	if (record->kind == REGIONS_ADD) {
		region_appears(t, record->number, &record->found);
		return;
	}
	/* Nothing in a file is believed: a region that never appeared, or is gone. */
	if (!map_get(&t->by_number, record->number, &position) || !position)
		return;
	row = &t->rows[position - 1];
	if (record->kind == REGIONS_USAGE) {
		region_uses(t, row, record->usage.rss * KIB);
		return;
	}
	region_uses(t, row, 0);
	if (!row->own)
		t->address_space -= row->length;
	map_set(&t->by_number, record->number, 0);
}

void map_totals_read_on(struct map_totals *t, const struct regions *r)
{
	for (; t->samples < r->sample_count; t->samples++) {
		const struct map_sample *s = &r->samples[t->samples];

		for (size_t i = 0; i < s->count; i++)
			take_record(t, &r->records[s->first + i]);
		/* One that is in several chunks is whole with the last of them. */
		if ((t->samples + 1 == r->sample_count || s[1].began != s->began) &&
		    t->rss > t->peak_rss)
			t->peak_rss = t->rss;
	}
}

void map_totals_release(struct map_totals *t)
{
	map_release(&t->by_number);
	free(t->rows);
	*t = (struct map_totals){ 0 };
}
