/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heap profiles and jemalloc's statistics as parcels.  See pack.h.
 *
 * A profile is of one moment: what it estimates to be alive is alive in that moment's bucket.  Each
 * profile of a process that is asked again and again is a parcel of the same recording. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/buf_text.h"
#include "base/map.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "fleet/pack.h"
#include "fleet/rows.h"
#include "heap/loaded_dump.h"
#include "query/frame_kind.h"

#define DAY 86400u

struct packed_stacks {
	struct pack_frame *frames;
	size_t room;
	struct pack_hash *stacks;
	size_t count, stack_room;
	struct pack_cell *cells;
	size_t cell_count, cell_room;
};

static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)llround(value) : 0;
}

/* Of the estimate of bytes alive: each object is counted with a probability that follows from its
 * size, which is taken for the stack's mean. */
static double variance_of(const struct dump_amounts *a, uint64_t rate)
{
	double size, seen;

	if (rate <= 1 || !(a->objects > 0) || !(a->bytes > 0))
		return 0;
	size = a->bytes / a->objects;
	seen = 1 - exp(-size / (double)rate);
	return seen > 0 ? a->objects * size * size * (1 - seen) / seen : 0;
}

static void pack_sample(struct packed_stacks *k, struct parcel_batch *b, const struct profile *p,
			const struct profile_walk *w, uint32_t bucket, bool alone)
{
	const struct heap_locations *l = &p->locations;
	const char *responsible = "";
	struct pack_cell *c;
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct heap_location *at = w->locations[i];
		const struct heap_location_frame *f = &l->frames[w->frames[i]];
		const char *name = f->function ? strings_at(&l->texts, f->function) : "";

		*xpush(k->frames, n, k->room) = (struct pack_frame){
			.function = name,
			.file = f->file ? strings_at(&l->texts, f->file) : "",
			.module = at->module == HEAP_NO_MODULE ? "" : l->modules[at->module].path,
			.line = f->line,
			.address = f->function ? 0 : at->address,
			.kind = FRAME_PROGRAM,
		};
		if (!*responsible)
			responsible = name;
	}
	*xpush(k->stacks, k->count, k->stack_room) =
		pack_stack(b, &(struct pack_stack){ .call = "",
						    .responsible = responsible,
						    .frames = k->frames,
						    .count = n,
						    .depth = (uint32_t)n });
	c = xpush(k->cells, k->cell_count, k->cell_room);
	*c = (struct pack_cell){ .stack = (uint32_t)k->count - 1,
				 .bucket = bucket,
				 .size_class = PACK_CLASS_UNKNOWN,
				 .live_variance = variance_of(&w->amounts, p->rate) };
	c->sums[PACK_LIVE] = (struct weight){ whole(w->amounts.bytes), whole(w->amounts.objects) };
	if (!alone)
		return;
	c->sums[PACK_PEAK] = c->sums[PACK_LIVE];
	c->sums[PACK_ALLOCATED] =
		(struct weight){ whole(w->amounts.all_bytes), whole(w->amounts.all_objects) };
}

/* Cells of the same stack are one. */
static void merge_cells(struct packed_stacks *k)
{
	struct map seen = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < k->cell_count; i++) {
		const struct pack_hash *hash = &k->stacks[k->cells[i].stack];
		uint64_t same, key = XXH3_64bits(hash, sizeof(*hash));

		if (!map_get(&seen, key, &same)) {
			map_set(&seen, key, n);
			k->cells[n++] = k->cells[i];
			continue;
		}
		for (unsigned s = 0; s < PACK_SUMS; s++)
			weight_add(&k->cells[same].sums[s], &k->cells[i].sums[s]);
		k->cells[same].live_variance += k->cells[i].live_variance;
	}
	k->cell_count = n;
	map_release(&seen);
}

/* The same in the buckets before, from `since` on: between two profiles nobody looked, and every
 * bucket has what is alive. */
static void fill_buckets(struct packed_stacks *k, uint32_t since)
{
	size_t count = k->cell_count;

	for (size_t i = 0; i < count; i++)
		for (uint32_t bucket = since; bucket < k->cells[i].bucket; bucket++) {
			struct pack_cell more = { .stack = k->cells[i].stack,
						  .bucket = bucket,
						  .size_class = k->cells[i].size_class,
						  .live_variance = k->cells[i].live_variance };

			more.sums[PACK_LIVE] = k->cells[i].sums[PACK_LIVE];
			*xpush(k->cells, k->cell_count, k->cell_room) = more;
		}
}

void pack_heap(struct parcel *p, const struct profile *profile, const struct pack_facts *facts,
	       uint32_t since, uint32_t step)
{
	auto_release(profile_walk_release) struct profile_walk w = { 0 };
	struct packed_stacks k = { 0 };
	bool alone = !since;
	struct pack_facts f = *facts;
	size_t batch;

	f.kind = "heap";
	f.peak_bytes = MAX(facts->peak_bytes, whole(profile->total.bytes));
	f.peak_count = MAX(facts->peak_count, whole(profile->total.objects));
	f.allocated_bytes = whole(profile->total.all_bytes);
	f.allocated_count = whole(profile->total.all_objects);
	pack_facts(p, &f);
	batch = p->count;
	parcel_add(p, "stacks", (uint32_t)(f.ended / DAY));
	for (size_t i = 0; i < profile->sample_count; i++)
		if (profile_walk(profile, i, &w) &&
		    (w.amounts.bytes > 0 || w.amounts.all_bytes > 0))
			pack_sample(&k, &p->batches[batch], profile, &w, (uint32_t)(f.ended / step),
				    alone);
	merge_cells(&k);
	if (since)
		fill_buckets(&k, since);
	pack_cells(p, k.cells, k.cell_count, k.stacks, step);
	free(k.frames);
	free(k.stacks);
	free(k.cells);
}

static void put_figure(struct parcel *p, struct parcel_batch **b, uint64_t second,
		       const char *field, const char *arena, uint64_t size_class, uint64_t value)
{
	uint32_t day = (uint32_t)(second / DAY);

	if (value == STATS_NONE)
		return;
	if (!*b || (*b)->day != day || (*b)->rows >= PARCEL_ROWS)
		*b = parcel_add(p, "jemalloc_stats", day);
	rows_put_u16(&(*b)->content, (uint16_t)day);
	rows_put_u32(&(*b)->content, (uint32_t)second);
	rows_put_u64(&(*b)->content, p->recording);
	rows_put_u64(&(*b)->content, (*b)->id);
	rows_put_text(&(*b)->content, field);
	rows_put_text(&(*b)->content, arena);
	rows_put_u64(&(*b)->content, size_class);
	rows_put_real(&(*b)->content, (double)value);
	(*b)->rows++;
}

static void put_classes(struct parcel *p, struct parcel_batch **b, uint64_t second,
			const char *arena, const struct stats_rows *rows,
			const struct stats_field *fields, unsigned size)
{
	for (size_t i = 0; i < rows->count; i++) {
		const uint64_t *row = stats_row(rows, i);

		for (unsigned f = 0; f < rows->width && *fields[f].name; f++)
			if (row[f] && f != size)
				put_figure(p, b, second, fields[f].name, arena, row[size], row[f]);
	}
}

void pack_statistics(struct parcel *p, const struct stats *s, uint64_t second)
{
	struct parcel_batch *b = p->count ? &p->batches[p->count - 1] : NULL;

	if (b && strcmp(b->table, "jemalloc_stats") != 0)
		b = NULL;
	for (unsigned i = 0; i < STATS_TOTAL_COUNT; i++)
		put_figure(p, &b, second, stats_total_fields[i].name, "", 0, s->total[i]);
	for (size_t k = 0; k < s->arena_count; k++) {
		const struct stats_arena *a = &s->arenas[k];
		char room[24];
		const char *name = stats_arena_name(a->id, room);

		for (unsigned i = 0; i < STATS_ARENA_COUNT; i++)
			if (a->value[i])
				put_figure(p, &b, second, stats_arena_fields[i].name, name, 0,
					   a->value[i]);
		if (a->id != STATS_MERGED)
			continue;
		put_classes(p, &b, second, name, &a->bins, stats_bin_fields, STATS_BIN_SIZE);
		put_classes(p, &b, second, name, &a->large, stats_large_fields, STATS_LARGE_SIZE);
	}
}
