/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Following memory maps through a recording.  See map_history.h.
 *
 * Calls and samples are taken in order of time.  `live` holds the regions that there are, `pieces`
 * what the last sample has seen: each region has its share of the usage of the pieces below it, and
 * a map the sum of its regions', which is noted whenever it changes.
 *
 * A call's stamp may be later than a sample that saw what it made: the thread was stopped in
 * between. What then looks like a map of nobody's, first seen by the last sample, is taken back
 * when the call comes. */
#include "model/map_history.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "model/model.h"
#include "pairing/ranges.h"
#include "wire/event.h"

#define NO_USAGE UINT32_MAX

struct piece {
	uint64_t start, length;
	struct region_found found;
	struct region_usage usage; /* bytes */
	bool changed;		   /* by the sample that is being read */
};

/* What is only needed while regions live. */
struct region_state {
	struct region_usage usage; /* its share, bytes */
	bool confirmed;		   /* a sample has shown it, or a part of it */
	bool unsure;		   /* in `unconfirmed` */
};

struct map_state {
	uint32_t live;
	uint64_t address_space;
	struct region_usage usage;
	uint32_t last_usage, region_count, usage_count;
	bool dirty;
	bool dropped; /* it never was */
};

struct builder {
	struct map_history *maps;
	size_t row_room, region_room, source_room, usage_room, growth_room;
	struct map_state *states; /* by map */
	struct region_state *region_states;
	struct ranges live; /* of regions */
	struct ranges seen; /* of pieces */
	struct piece *pieces;
	size_t piece_count, piece_room;
	struct map by_number; /* pieces */
	struct map moved;     /* by thread: the region that mremap has taken away */
	uint32_t *dirty;
	size_t dirty_count, dirty_room;
	uint32_t *unconfirmed; /* regions since the last sample */
	size_t unconfirmed_count, unconfirmed_room;
	uint64_t last_sample;
};

static void add_usage(struct region_usage *to, const struct region_usage *what, bool less)
{
#define X(name) to->name += less ? 0 - what->name : what->name;
	REGIONS_USAGES(X)
#undef X
}

static void mark_map(struct builder *b, uint32_t map)
{
	if (b->states[map].dirty)
		return;
	b->states[map].dirty = true;
	*xpush(b->dirty, b->dirty_count, b->dirty_room) = map;
}

/* Notes what the maps that have changed consist of now. */
static void settle(struct builder *b, uint64_t at)
{
	struct map_history *m = b->maps;

	for (size_t i = 0; i < b->dirty_count; i++) {
		uint32_t map = b->dirty[i];
		struct map_state *s = &b->states[map];
		struct map_row *row = &m->rows[map];
		struct map_usage now = { map, at, s->address_space, s->usage }, *last = NULL;

		s->dirty = false;
		if (s->last_usage != NO_USAGE)
			last = &m->usages[s->last_usage];
		row->size = MAX(row->size, now.address_space);
		row->peak_rss = MAX(row->peak_rss, now.bytes.rss);
		if (last && last->address_space == now.address_space &&
		    !memcmp(&last->bytes, &now.bytes, sizeof(now.bytes)))
			continue;
		if (last && last->at == at) {
			*last = now;
			continue;
		}
		m->usages = xgrow(m->usages, m->usage_count, &b->usage_room, sizeof(*m->usages));
		s->last_usage = m->usage_count;
		s->usage_count++;
		m->usages[m->usage_count++] = now;
	}
	b->dirty_count = 0;
}

static uint64_t share(uint64_t value, uint64_t part, uint64_t whole)
{
	return part == whole ? value : (uint64_t)((double)value * (double)part / (double)whole);
}

/* A region's part of what the pieces below it use. */
static struct region_usage usage_of(const struct builder *b, uint64_t start, uint64_t end)
{
	struct region_usage sum = { 0 };
	struct range at;

	for (uint64_t from = start;
	     from < end && ranges_from(&b->seen, from, &at) && at.start < end; from = at.end) {
		const struct piece *p = &b->pieces[at.value];
		uint64_t low = at.start > start ? at.start : start,
			 high = at.end < end ? at.end : end;

#define X(name) sum.name += share(p->usage.name, high - low, p->length);
		REGIONS_USAGES(X)
#undef X
	}
	return sum;
}

static void update_usage(struct builder *b, uint32_t region)
{
	const struct map_region *r = &b->maps->regions[region];
	struct region_usage now = usage_of(b, r->address, r->address + r->length);
	struct map_state *s = &b->states[r->map];

	add_usage(&s->usage, &b->region_states[region].usage, true);
	add_usage(&s->usage, &now, false);
	b->region_states[region].usage = now;
	mark_map(b, r->map);
}

static uint32_t add_map(struct builder *b, uint64_t at, uint32_t call)
{
	struct map_history *m = b->maps;
	size_t room = b->row_room;

	m->rows = xgrow(m->rows, m->count, &b->row_room, sizeof(*m->rows));
	if (b->row_room != room)
		b->states = xreallocarray(b->states, b->row_room, sizeof(*b->states));
	m->rows[m->count] =
		(struct map_row){ .begun = at, .ended = NEVER, .call = call, .end_call = NO_CALL };
	b->states[m->count] = (struct map_state){ .last_usage = NO_USAGE };
	return m->count++;
}

/* Adds a region, which is like `r`, where there is none. */
static void add_region(struct builder *b, struct map_region r, bool confirmed, bool unsure)
{
	struct map_history *m = b->maps;
	struct map_row *row = &m->rows[r.map];
	struct map_state *s = &b->states[r.map];
	size_t room = b->region_room;
	uint32_t i = m->region_count;

	r.ended = NEVER;
	r.first_source = r.source_count = 0;
	m->regions = xgrow(m->regions, i, &b->region_room, sizeof(*m->regions));
	if (b->region_room != room)
		b->region_states =
			xreallocarray(b->region_states, b->region_room, sizeof(*b->region_states));
	m->regions[i] = r;
	b->region_states[i] = (struct region_state){ .confirmed = confirmed, .unsure = unsure };
	m->region_count++;
	ranges_add(&b->live, r.address, r.address + r.length, i);
	if (!s->region_count++)
		row->address = r.address;
	row->ended = NEVER;
	row->end_call = NO_CALL;
	row->flags = r.flags;
	row->name = r.name;
	s->live++;
	s->address_space += r.length;
	update_usage(b, i);
	if (!unsure)
		return;
	*xpush(b->unconfirmed, b->unconfirmed_count, b->unconfirmed_room) = i;
}

/* Ends a region; the caller adds what is left of it. */
static void end_region(struct builder *b, uint32_t region, uint64_t at, uint32_t call)
{
	struct map_region *r = &b->maps->regions[region];
	struct map_state *s = &b->states[r->map];

	r->ended = at;
	ranges_remove(&b->live, r->address);
	add_usage(&s->usage, &b->region_states[region].usage, true);
	s->address_space -= r->length;
	mark_map(b, r->map);
	if (!--s->live) {
		b->maps->rows[r->map].ended = at;
		b->maps->rows[r->map].end_call = call;
	}
}

static void add_source(struct builder *b, uint32_t region, uint64_t start, uint64_t end,
		       uint32_t call)
{
	struct map_history *m = b->maps;
	struct map_region *r = &m->regions[region];

	if (call == NO_CALL)
		return;
	m->sources = xgrow(m->sources, m->source_count, &b->source_room, sizeof(*m->sources));
	r->first_source = m->source_count;
	r->source_count = 1;
	m->sources[m->source_count++] = (struct map_source){ start, end - start, call };
}

/* What is left of a region that has ended between start and end. */
static void add_rests(struct builder *b, uint32_t region, uint64_t start, uint64_t end, uint64_t at)
{
	struct map_region rest = b->maps->regions[region];
	uint64_t from = rest.address, to = rest.address + rest.length;
	struct region_state state = b->region_states[region];

	rest.begun = at;
	for (int behind = 0; behind < 2; behind++) {
		rest.address = behind ? end : from;
		rest.length =
			behind ? (to > end ? to - end : 0) : (start > from ? start - from : 0);
		if (!rest.length)
			continue;
		rest.offset = b->maps->regions[region].offset;
		rest.offset += rest.inode ? rest.address - from : 0;
		add_region(b, rest, state.confirmed, state.unsure);
	}
}

/* Nothing is mapped between the two any more. */
static void cut(struct builder *b, uint64_t start, uint64_t end, uint64_t at, uint32_t call)
{
	struct range r;

	for (uint64_t from = start; from < end && ranges_from(&b->live, from, &r) && r.start < end;
	     from = r.end) {
		uint64_t low = r.start > start ? r.start : start, high = r.end < end ? r.end : end;

		end_region(b, r.value, at, call);
		add_source(b, r.value, low, high, call);
		add_rests(b, r.value, low, high, at);
	}
}

static bool is_known(const struct builder *b, uint32_t region)
{
	return b->maps->rows[b->maps->regions[region].map].call != NO_CALL;
}

/* Takes back what the last sample has shown of a map before the call that made it was stamped. */
static void take_back(struct builder *b, uint64_t start, uint64_t end)
{
	struct range r;

	for (uint64_t from = start; from < end && ranges_from(&b->live, from, &r) && r.start < end;
	     from = r.end) {
		const struct map_region *region = &b->maps->regions[r.value];
		struct map_state *s = &b->states[region->map];

		if (is_known(b, r.value) || region->begun != b->last_sample || r.start < start ||
		    r.end > end || s->region_count != 1)
			continue;
		end_region(b, r.value, region->begun, NO_CALL);
		s->dropped = true;
	}
}

static void take_map(struct builder *b, uint32_t call)
{
	const struct map_call *c = &b->maps->calls.rows[call];
	uint64_t end = c->address + c->length, moved;
	struct map_region r = {
		.address = c->address, .length = c->length, .begun = c->at, .flags = c->flags
	};

	if (!(c->given & MAP_FIXED) || c->call == CALL_mremap)
		take_back(b, c->address, end);
	cut(b, c->address, end, c->at, call);
	ranges_cut(&b->seen, c->address, end); /* what was seen there was something else's */
	if (c->call == CALL_mremap) {
		r.flags = MAP_CAN_READ | MAP_CAN_WRITE | MAP_IS_ANONYMOUS;
		if (map_get(&b->moved, c->thread, &moved) && moved) {
			const struct map_region *old = &b->maps->regions[moved - 1];

			r.flags = old->flags;
			r.name = old->name;
			r.offset = old->offset;
			r.inode = old->inode;
			r.major = old->major;
			r.minor = old->minor;
			map_set(&b->moved, c->thread, 0);
		}
	}
	r.map = add_map(b, c->at, call);
	add_region(b, r, false, true);
}

/* The heap has grown.  Maps of it come from samples, and are told who began them. */
static void note_growth(struct builder *b, uint32_t call)
{
	struct map_history *m = b->maps;

	*xpush(m->growths, m->growth_count, b->growth_room) = call;
}

static void take_call(struct builder *b, uint32_t call)
{
	const struct map_call *c = &b->maps->calls.rows[call];
	struct range r = { 0 };

	if (!c->length || c->address >= REGION_ADDRESS_MAX || c->length > REGION_ADDRESS_MAX)
		return;
	if (c->kind == MAP_CALL_CHANGES) {
		if (c->call == CALL_brk && !(c->flags & CHANGE_SHRINKS))
			note_growth(b, call);
		return;
	}
	if (map_call_maps(c)) {
		take_map(b, call);
	} else {
		if (c->call == CALL_mremap && ranges_from(&b->live, c->address, &r) &&
		    r.start < c->address + c->length)
			map_set(&b->moved, c->thread, r.value + 1);
		cut(b, c->address, c->address + c->length, c->at, call);
		ranges_cut(&b->seen, c->address, c->address + c->length);
	}
	settle(b, c->at);
}

static void describe(struct map_region *r, const struct piece *p)
{
	r->flags =
		p->found.flags | (r->flags & (MAP_IS_ANONYMOUS | MAP_BY_ALLOCATOR | MAP_BY_LIBC));
	r->name = p->found.name;
	r->inode = p->found.inode;
	r->major = p->found.major;
	r->minor = p->found.minor;
	r->offset = p->found.offset + (p->found.inode ? r->address - p->start : 0);
}

#define PERMISSIONS (MAP_CAN_READ | MAP_CAN_WRITE | MAP_CAN_EXECUTE | MAP_IS_SHARED)

static void show_known(struct builder *b, const struct piece *p, struct range at, uint64_t now)
{
	struct map_region *r = &b->maps->regions[at.value], part;
	uint64_t low = at.start > p->start ? at.start : p->start;
	uint64_t high = at.end < p->start + p->length ? at.end : p->start + p->length;
	bool unsure;

	if (!b->region_states[at.value].confirmed ||
	    (r->flags & PERMISSIONS) == (p->found.flags & PERMISSIONS)) {
		uint64_t address = r->address;

		b->region_states[at.value].confirmed = true;
		if (address >= p->start) {
			describe(r, p);
			b->maps->rows[r->map].flags = r->flags;
			b->maps->rows[r->map].name = r->name;
		}
		update_usage(b, at.value);
		return;
	}
	unsure = b->region_states[at.value].unsure;
	end_region(b, at.value, now, NO_CALL);
	add_rests(b, at.value, low, high, now);
	part = b->maps->regions[at.value];
	part.address = low;
	part.length = high - low;
	part.begun = now;
	describe(&part, p);
	add_region(b, part, true, unsure);
}

static bool same_thing(const struct map_region *r, const struct piece *p)
{
	return r->name == p->found.name && r->inode == p->found.inode &&
	       (r->flags & MAP_IS_OWN) == (p->found.flags & MAP_IS_OWN);
}

/* A part of a piece that no call is known to have mapped.  What grew, shrank or changed its
 * permissions is still the same map. */
static void show_unknown(struct builder *b, const struct piece *p, uint64_t start, uint64_t end,
			 uint64_t now)
{
	struct map_region r = { .address = start, .length = end - start, .begun = now };
	uint32_t map = UINT32_MAX;
	struct range at;

	for (uint64_t from = start;
	     from < end && ranges_from(&b->live, from, &at) && at.start < end; from = at.end) {
		const struct map_region *old = &b->maps->regions[at.value];

		if (at.start == start && at.end == end && same_thing(old, p) &&
		    (old->flags & PERMISSIONS) == (p->found.flags & PERMISSIONS)) {
			update_usage(b, at.value);
			return;
		}
		if (map == UINT32_MAX && same_thing(old, p))
			map = old->map;
	}
	cut(b, start, end, now, NO_CALL);
	r.map = map == UINT32_MAX ? add_map(b, now, NO_CALL) : map;
	describe(&r, p);
	add_region(b, r, true, false);
}

static void show_piece(struct builder *b, const struct piece *p, uint64_t now)
{
	uint64_t end = p->start + p->length, from = p->start, gap = p->start;
	struct range at;

	while (from < end && ranges_from(&b->live, from, &at) && at.start < end) {
		from = at.end;
		if (!is_known(b, at.value))
			continue;
		if (at.start > gap)
			show_unknown(b, p, gap, at.start, now);
		show_known(b, p, at, now);
		gap = at.end;
	}
	if (gap < end)
		show_unknown(b, p, gap, end, now);
}

/* Was it there before the sample, whole or as part of what the sample has shown to be less? */
static bool is_older(const struct builder *b, uint32_t region, const struct map_sample *sample)
{
	uint64_t begun = b->maps->regions[region].begun;

	return begun <= sample->began || begun == sample->ended;
}

/* Nothing was seen there: what a call mapped before the sample began, or nobody is known to have
 * mapped, is gone. */
static void miss(struct builder *b, uint64_t start, uint64_t end, const struct map_sample *sample)
{
	struct range piece, r;

	for (uint64_t from = start; from < end; from = piece.end) {
		uint64_t to = end;

		if (!ranges_from(&b->seen, from, &piece) || piece.start >= end)
			piece = (struct range){ end, end, 0 };
		to = MIN(to, piece.start);
		for (uint64_t at = from; at < to && ranges_from(&b->live, at, &r) && r.start < to;
		     at = r.end)
			if (!is_known(b, r.value) || is_older(b, r.value, sample))
				cut(b, r.start > from ? r.start : from, r.end < to ? r.end : to,
				    sample->ended, NO_CALL);
	}
}

static struct piece *piece_of(struct builder *b, uint64_t number)
{
	uint64_t i;

	return map_get(&b->by_number, number, &i) && i ? &b->pieces[i - 1] : NULL;
}

static void add_piece(struct builder *b, const struct map_sample_record *record)
{
	const struct region_found *f = &record->found;
	uint64_t unused;

	if (map_get(&b->by_number, record->number, &unused))
		return;
	*xpush(b->pieces, b->piece_count, b->piece_room) = (struct piece){
		.start = f->start, .length = f->length, .found = *f, .changed = true
	};
	map_set(&b->by_number, record->number, b->piece_count);
	ranges_cut(&b->seen, f->start, f->start + f->length);
	ranges_add(&b->seen, f->start, f->start + f->length, (uint32_t)b->piece_count - 1);
}

static void set_usage(struct builder *b, const struct map_sample_record *record)
{
	struct piece *p = piece_of(b, record->number);

	if (!p)
		return;
#define X(name) p->usage.name = record->usage.name * 1024;
	REGIONS_USAGES(X)
#undef X
	p->changed = true;
}

static void remove_piece(struct builder *b, const struct map_sample_record *record)
{
	struct piece *p = piece_of(b, record->number);

	if (!p)
		return;
	ranges_cut(&b->seen, p->start, p->start + p->length);
	map_set(&b->by_number, record->number, 0);
}

struct gone {
	uint64_t start, end;
};

/* Takes what has changed; returns the places of pieces that were removed. */
static size_t read_sample(struct builder *b, const struct map_sample *sample,
			  struct gone **ret_gone)
{
	struct gone *gone = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < sample->count; i++) {
		const struct map_sample_record *record = &b->maps->seen->records[sample->first + i];
		const struct piece *p = piece_of(b, record->number);

		if (record->kind == REGIONS_ADD) {
			add_piece(b, record);
		} else if (record->kind == REGIONS_USAGE) {
			set_usage(b, record);
		} else if (p) {
			*xpush(gone, count, room) = (struct gone){ p->start, p->start + p->length };
			remove_piece(b, record);
		}
	}
	*ret_gone = gone;
	return count;
}

/* What was mapped before the sample before this one was over, and is not there, was unmapped by
 * somebody unseen.  One sample may be too early: an event may reach the collector late. */
static void miss_unconfirmed(struct builder *b, const struct map_sample *sample)
{
	size_t remaining = 0;

	for (size_t i = 0; i < b->unconfirmed_count; i++) {
		uint32_t region = b->unconfirmed[i];
		const struct map_region *r = &b->maps->regions[region];

		if (r->ended != NEVER)
			continue;
		if (r->begun <= b->last_sample) {
			b->region_states[region].unsure = false;
			miss(b, r->address, r->address + r->length, sample);
		} else {
			b->unconfirmed[remaining++] = region;
		}
	}
	b->unconfirmed_count = remaining;
}

static void take_sample(struct builder *b, const struct map_sample *sample)
{
	auto_free struct gone *gone = NULL;
	size_t gone_count = read_sample(b, sample, &gone);

	for (size_t i = 0; i < sample->count; i++) {
		const struct map_sample_record *record = &b->maps->seen->records[sample->first + i];
		struct piece *p = piece_of(b, record->number);

		if (p && p->changed) {
			p->changed = false;
			show_piece(b, p, sample->ended);
		}
	}
	for (size_t i = 0; i < gone_count; i++)
		miss(b, gone[i].start, gone[i].end, sample);
	miss_unconfirmed(b, sample);
	b->last_sample = sample->ended;
	settle(b, sample->ended);
}

/* Where each map's regions and usages begin, and room for them in that order. */
static void gather(struct builder *b)
{
	struct map_history *m = b->maps;
	auto_free uint32_t *place = xcalloc((size_t)m->count + 1, sizeof(*place));
	uint32_t remaining = 0, regions = 0, usages = 0;
	struct map_region *sorted =
		xreallocarray(NULL, (size_t)m->region_count + 1, sizeof(*sorted));
	struct map_usage *ordered =
		xreallocarray(NULL, (size_t)m->usage_count + 1, sizeof(*ordered));

	for (uint32_t i = 0; i < m->count; i++) {
		struct map_row *row = &m->rows[remaining];

		place[i] = UINT32_MAX;
		if (b->states[i].dropped)
			continue;
		place[i] = remaining;
		*row = m->rows[i];
		row->first_region = regions;
		row->first_usage = usages;
		regions += b->states[i].region_count;
		usages += b->states[i].usage_count;
		remaining++;
	}
	m->count = remaining;
	for (uint32_t i = 0; i < m->region_count; i++) {
		struct map_region *r = &m->regions[i];
		struct map_row *row;

		if (place[r->map] == UINT32_MAX)
			continue;
		r->map = place[r->map];
		row = &m->rows[r->map];
		sorted[row->first_region + row->region_count++] = *r;
	}
	m->usage_order = xreallocarray(NULL, (size_t)usages + 1, sizeof(*m->usage_order));
	usages = 0;
	for (uint32_t i = 0; i < m->usage_count; i++) {
		struct map_usage *u = &m->usages[i];
		struct map_row *row;

		if (place[u->map] == UINT32_MAX)
			continue;
		u->map = place[u->map];
		row = &m->rows[u->map];
		m->usage_order[usages++] = row->first_usage + row->usage_count;
		ordered[row->first_usage + row->usage_count++] = *u;
	}
	free(m->regions);
	free(m->usages);
	m->regions = sorted;
	m->usages = ordered;
	m->region_count = regions;
	m->usage_count = usages;
}

/* A map may at last be of regions that may be read and others that may not: an arena of glibc's is.
 */
static void join_permissions(struct map_history *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		struct map_row *row = &m->rows[i];

		for (uint32_t k = 0; k < row->region_count; k++) {
			const struct map_region *r = &m->regions[row->first_region + k];

			if (r->ended == row->ended)
				row->flags |= r->flags & PERMISSIONS;
		}
	}
}

struct map_history *map_history_new(const struct map_calls *calls, const struct regions *seen)
{
	struct map_history *m = xcalloc(1, sizeof(*m));
	struct builder b = { .maps = m };
	size_t sample = 0;

	m->seen = seen;
	if (calls->count < NO_CALL)
		for (size_t i = 0; i < calls->count; i++)
			map_calls_add(&m->calls, &calls->rows[i]);
	map_calls_sort(&m->calls);
	for (uint32_t call = 0; call < m->calls.count; call++) {
		while (sample < seen->sample_count &&
		       seen->samples[sample].ended < m->calls.rows[call].at)
			take_sample(&b, &seen->samples[sample++]);
		take_call(&b, call);
	}
	while (sample < seen->sample_count)
		take_sample(&b, &seen->samples[sample++]);
	gather(&b);
	join_permissions(m);
	free(b.states);
	free(b.region_states);
	ranges_release(&b.live);
	ranges_release(&b.seen);
	free(b.pieces);
	map_release(&b.by_number);
	map_release(&b.moved);
	free(b.dirty);
	free(b.unconfirmed);
	return m;
}

struct map_history *map_history_free(struct map_history *m)
{
	if (!m)
		return NULL;
	free(m->rows);
	free(m->regions);
	free(m->sources);
	free(m->usages);
	free(m->usage_order);
	free(m->growths);
	map_calls_release(&m->calls);
	free(m);
	return NULL;
}

const struct map_history *model_maps(const struct model *m)
{
	_Atomic(struct map_history *) *slot = &((struct model *)m)->maps;
	struct map_history *mine, *other = NULL,
				  *there = atomic_load_explicit(slot, memory_order_acquire);
	const char *allocator = model_info(m, "allocator");

	if (there)
		return there;
	mine = map_history_new(&m->tables.map_calls, &m->tables.regions);
	mine->jemalloc = allocator && strstr(allocator, "jemalloc");
	if (atomic_compare_exchange_strong(slot, &other, mine))
		return mine;
	map_history_free(mine);
	return other;
}

static const char *name_of(const struct map_history *m, uint32_t map, uint32_t name, uint8_t flags)
{
	const char *text = regions_name(m->seen, name);

	if (*text && strcmp(text, "[anon:mmap]"))
		return text;
	if (flags & MAP_IS_OWN)
		return "[anon:memoir]";
	if (m->rows[map].call == NO_CALL || !(flags & MAP_IS_ANONYMOUS))
		return text;
	if (flags & MAP_BY_LIBC)
		return "[anon:glibc]";
	return flags & MAP_BY_ALLOCATOR && m->jemalloc ? "[anon:jemalloc]" : "[anon:mmap]";
}

uint32_t map_history_growth(const struct map_history *m, const struct map_row *row, uint32_t from)
{
	if (!strcmp(regions_name(m->seen, row->name), "[heap]"))
		for (; from < m->growth_count; from++) {
			const struct map_call *c = &m->calls.rows[m->growths[from]];

			/* Its first page may be shared with what was there before, and no sample
			 * need have seen the last growth of a heap that is still there. */
			if (c->address + c->length > row->address &&
			    (row->ended == NEVER || c->address < row->address + row->size))
				return from;
		}
	return NO_CALL;
}

uint32_t map_history_maker(const struct map_history *m, const struct map_row *row)
{
	uint32_t growth = row->call == NO_CALL ? map_history_growth(m, row, 0) : NO_CALL;

	return growth == NO_CALL ? row->call : m->growths[growth];
}

const struct map_usage *map_history_usage(const struct map_history *m, const struct map_row *row,
					  uint64_t at)
{
	const struct map_usage *usages = m->usages + row->first_usage;
	size_t next = FIRST_WHERE(i, row->usage_count, usages[i].at > at);

	return next ? &usages[next - 1] : NULL;
}

const char *map_history_name(const struct map_history *m, const struct map_row *row)
{
	return name_of(m, (uint32_t)(row - m->rows), row->name, row->flags);
}

const char *map_history_region_name(const struct map_history *m, const struct map_region *region)
{
	return name_of(m, region->map, region->name, region->flags);
}
