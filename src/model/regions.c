/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading samples of memory maps.  See regions.h. */
#include "model/regions.h"

#include <string.h>

#include "base/xalloc.h"
#include "recording/payload.h"
#include "wire/pages.h"

static bool get_found(struct regions *r, struct payload_reader *c, struct region_found *f)
{
	uint64_t major, minor, flags, size;
	char *name;

	if (!payload_get(c, &f->start) || !payload_get(c, &f->length) ||
	    !payload_get(c, &f->offset) || !payload_get(c, &f->inode) || !payload_get(c, &major) ||
	    !payload_get(c, &minor) || !payload_get(c, &flags) || !payload_get(c, &size) ||
	    size > (uint64_t)(c->end - c->p) || major > UINT32_MAX || minor > UINT32_MAX ||
	    flags > UINT8_MAX || !f->length || f->start >= REGION_ADDRESS_MAX ||
	    f->length > REGION_ADDRESS_MAX)
		return false;
	f->major = (uint32_t)major;
	f->minor = (uint32_t)minor;
	f->flags = (uint8_t)flags;
	name = xmemdup0(c->p, size);
	f->name = strings_add(&r->names, name);
	free(name);
	c->p += size;
	return true;
}

static bool get_usage(struct payload_reader *c, struct region_usage *u)
{
#define X(name)                                                                                    \
	if (!payload_get(c, &u->name) || u->name > REGION_USAGE_MAX)                               \
		return false;
	REGIONS_USAGES(X)
#undef X
	return true;
}

static bool get_record(struct regions *r, struct payload_reader *c,
		       struct map_sample_record *record)
{
	uint64_t kind;

	memset(record, 0, sizeof(*record));
	if (!payload_get(c, &kind) || !payload_get(c, &record->number))
		return false;
	record->kind = (uint8_t)kind;
	switch (kind) {
	case REGIONS_ADD:
		return get_found(r, c, &record->found);
	case REGIONS_USAGE:
		return get_usage(c, &record->usage);
	case REGIONS_REMOVE:
		return true;
	default:
		return false;
	}
}

static struct map_sample *sample_at(struct regions *r, uint64_t began, uint64_t ended)
{
	struct map_sample *last = r->sample_count ? &r->samples[r->sample_count - 1] : NULL;

	if (last && last->began == began)
		return last;
	/* Looks are in order of time; a clock that jumps back must not undo that. */
	if (last && began < last->ended)
		began = last->ended;
	last = xpush(r->samples, r->sample_count, r->sample_room);
	*last = (struct map_sample){ began, ended > began ? ended : began, r->record_count, 0 };
	return last;
}

bool regions_add(struct regions *r, const uint8_t *bytes, size_t size)
{
	struct payload_reader c = { bytes, bytes + size };
	uint64_t began, took;
	struct map_sample *sample;

	if (!payload_get(&c, &began) || !payload_get(&c, &took) || began >= UINT64_MAX - 1 ||
	    took >= UINT64_MAX - 1 - began)
		return false;
	if (!r->named)
		strings_init(&r->names);
	r->named = true;
	sample = sample_at(r, began, began + took);
	while (c.p < c.end) {
		r->records =
			xgrow(r->records, r->record_count, &r->record_room, sizeof(*r->records));
		if (!get_record(r, &c, &r->records[r->record_count]))
			return false;
		r->record_count++;
		sample->count++;
	}
	return true;
}

/* Pages and runs of one stretch, and that the runs are as many pages. */
static bool get_runs(struct regions *r, struct payload_reader *c, struct region_pages *to)
{
	uint64_t pages, runs, run, sum = 0;
	const uint8_t *first;

	if (!payload_get(c, &to->first) || !payload_get(c, &pages) || !payload_get(c, &runs) ||
	    to->first > REGION_ADDRESS_MAX || pages > PAGES_STRETCH || runs > PAGES_STRETCH + 2)
		return false;
	for (first = c->p; runs; runs--) {
		if (!payload_get(c, &run) || run > pages)
			return false;
		sum += run;
	}
	if (sum != pages)
		return false;
	to->size = (uint64_t)(c->p - first);
	to->runs = r->page_bytes_count;
	while (r->page_bytes_room - r->page_bytes_count < to->size) {
		r->page_bytes_room = r->page_bytes_room ? r->page_bytes_room * 2 : 4096;
		r->page_bytes = xreallocarray(r->page_bytes, r->page_bytes_room, 1);
	}
	memcpy(r->page_bytes + to->runs, first, to->size);
	r->page_bytes_count += to->size;
	return true;
}

bool regions_add_pages(struct regions *r, const uint8_t *bytes, size_t size)
{
	struct payload_reader c = { bytes, bytes + size };
	uint64_t at, page, kind;

	if (!payload_get(&c, &at) || !payload_get(&c, &page) || page < 4096 || page > 1u << 20 ||
	    page & (page - 1))
		return false;
	while (c.p < c.end) {
		struct region_pages p = { .at = at, .page = (uint32_t)page };

		if (!payload_get(&c, &kind) || !payload_get(&c, &p.number))
			return false;
		if (kind == PAGES_HUGE) {
			p.first = UINT64_MAX;
			if (!payload_get(&c, &p.size) || p.size > REGION_USAGE_MAX)
				return false;
		} else if (kind != PAGES_RESIDENT || !get_runs(r, &c, &p)) {
			return false;
		}
		*xpush(r->pages, r->pages_count, r->pages_room) = p;
	}
	return true;
}

const char *regions_name(const struct regions *r, uint32_t name)
{
	return r->named ? strings_at(&r->names, name) : "";
}

void regions_release(struct regions *r)
{
	free(r->samples);
	free(r->records);
	free(r->pages);
	free(r->page_bytes);
	if (r->named)
		strings_release(&r->names);
	memset(r, 0, sizeof(*r));
}
