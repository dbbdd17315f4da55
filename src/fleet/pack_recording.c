/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A recording as a parcel.  See pack.h.
 *
 * Every allocation is counted where it began: in its stack, its class of sizes and its bucket of
 * time, together with what became of it (freed, leaked, alive at the recording's peak, temporary);
 * its end is counted in the bucket of the end.  A bucket has what came after its start, up to and
 * with its end, so what is alive at a bucket's end is what `alive at that moment` means elsewhere.
 * From a stack's first bucket on there is a row in every bucket in which it has something alive:
 * then one bucket says all that is alive in a fleet. */
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/map.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "fleet/pack.h"
#include "query/origin.h"
#include "query/responsible.h"
#include "query/stacks.h"

#define NS UINT64_C(1000000000)

struct packing {
	struct parcel *p;
	const struct view *v;
	const struct model *m;
	struct model_clock clock;
	uint64_t start_ns, step_ns;
	uint32_t last;	     /* bucket */
	struct map stack_of; /* by node and call: position in stacks */
	struct pack_hash *stacks;
	size_t stack_count, stack_room;
	struct stack_frames frames;
	struct pack_frame *named;
	size_t named_room;
	size_t stack_batch; /* position among the parcel's: others move */
	struct map cell_of; /* by stack, class and bucket: position in cells */
	struct pack_cell *cells;
	size_t cell_count, cell_room;
};

static uint32_t bucket_of(const struct packing *k, uint64_t stamp)
{
	uint64_t ns = k->start_ns;

	if (stamp > k->clock.start)
		ns += (uint64_t)((double)(stamp - k->clock.start) * k->clock.ns_per_tick);
	return (uint32_t)((ns ? ns - 1 : 0) / k->step_ns);
}

static uint32_t depth_of(const struct model *m, uint32_t node)
{
	const struct nodes *n = &m->tables.nodes;
	uint32_t depth = 0;

	for (; node && node < n->count && n->frame[node]; node = n->parent[node])
		depth++;
	return depth;
}

static void name_frames(struct packing *k)
{
	const struct responsible *r = responsible_of_view(k->v);
	struct locations *p = k->v->locations;
	size_t count = 0;

	for (size_t i = 0; i < k->frames.count; i++) {
		const struct stack_frame *f = &k->frames.rows[i];

		*xpush(k->named, count, k->named_room) = (struct pack_frame){
			.function = locations_string(p, f->function),
			.file = locations_string(p, f->file),
			.module = locations_module_path(p, f->module),
			.line = f->line,
			.address = f->function ? 0 : f->address,
			.kind = responsible_kind(r, f->location, f->index),
		};
	}
}

static uint32_t stack_of(struct packing *k, uint32_t node, unsigned call)
{
	const struct responsible *r = responsible_of_view(k->v);
	auto_buf struct buf responsible = { 0 };
	struct responsible_frame leading;
	uint64_t key = (uint64_t)call << 32 | node, at;
	struct pack_stack stack;

	if (map_get(&k->stack_of, key, &at))
		return (uint32_t)at;
	stack_frames_of(&k->frames, k->v, node);
	name_frames(k);
	buf_text(&responsible, "");
	if (responsible_find(r, node, &leading))
		responsible_name(r, &leading, &responsible);
	stack = (struct pack_stack){ .call = locations_call(k->v->locations, call),
				     .responsible = responsible.data,
				     .frames = k->named,
				     .count = k->frames.count,
				     .depth = depth_of(k->m, node) };
	map_set(&k->stack_of, key, k->stack_count);
	*xpush(k->stacks, k->stack_count, k->stack_room) =
		pack_stack(&k->p->batches[k->stack_batch], &stack);
	return (uint32_t)k->stack_count - 1;
}

static struct pack_cell *cell_at(struct packing *k, uint32_t stack, unsigned class, uint32_t bucket)
{
	uint64_t key = (uint64_t)stack << 40 | (uint64_t) class << 32 | bucket, at;

	if (map_get(&k->cell_of, key, &at))
		return &k->cells[at];
	map_set(&k->cell_of, key, k->cell_count);
	*xpush(k->cells, k->cell_count, k->cell_room) =
		(struct pack_cell){ .stack = stack,
				    .bucket = bucket,
				    .size_class = (uint8_t) class };
	return &k->cells[k->cell_count - 1];
}

static void count_one(struct pack_cell *c, enum pack_sum which, uint64_t bytes)
{
	c->sums[which].bytes += bytes;
	c->sums[which].count++;
}

static void pack_row(struct packing *k, const struct measuring *peak, uint32_t row)
{
	const struct columns *c = &k->m->allocations;
	const struct removed *removed = &k->m->tables.removed;
	uint64_t size = columns_size(c, row);
	unsigned class = pack_size_class(size);
	uint32_t stack = stack_of(k, columns_stack(c, row), tags_call(columns_tags(c, row)));
	struct pack_cell *cell =
		cell_at(k, stack, class, bucket_of(k, columns_allocated_at(c, row)));

	count_one(cell, PACK_ALLOCATED, size);
	if (columns_freed_at(c, row) == NEVER)
		count_one(cell, PACK_LEAKED, size);
	if (measuring_takes(peak, c, row) &&
	    !(k->m->peak_is_whole && removed_find(removed, columns_stack(c, row))))
		count_one(cell, PACK_PEAK, size);
	if (tags_flags(columns_tags(c, row)) & TAG_TEMPORARY)
		count_one(cell, PACK_TEMPORARY, size);
	if (columns_freed_at(c, row) != NEVER)
		count_one(cell_at(k, stack, class, bucket_of(k, columns_freed_at(c, row))),
			  PACK_FREED, size);
}

/* What culling took out is known by stack; it was freed soon after it was made. */
static void pack_removed(struct packing *k)
{
	const struct removed *r = &k->m->tables.removed;

	for (size_t i = 0; i < r->count; i++) {
		const struct statistics *s = &r->rows[i];
		uint32_t stack = stack_of(k, s->stack, s->call);
		struct pack_cell *c =
			cell_at(k, stack, PACK_CLASS_UNKNOWN, bucket_of(k, s->first_at));
		struct weight all = { s->bytes, s->count };
		struct weight temporary = { s->temporary_bytes, s->temporary };
		struct weight peak = { s->peak_bytes, s->peak_count };

		weight_add(&c->sums[PACK_ALLOCATED], &all);
		weight_add(&c->sums[PACK_FREED], &all);
		weight_add(&c->sums[PACK_TEMPORARY], &temporary);
		if (k->m->peak_is_whole)
			weight_add(&c->sums[PACK_PEAK], &peak);
	}
}

ORDER(compare_by_stack, struct pack_cell, RISING(stack) ?: RISING(size_class) ?: RISING(bucket))

/* What is alive at the end of each bucket: a row in every one, as long as there is something. */
static void pack_live(struct packing *k)
{
	size_t count = k->cell_count;
	struct weight live = { 0 };

	SORT(k->cells, count, compare_by_stack);
	for (size_t i = 0; i < count; i++) {
		struct pack_cell c = k->cells[i];
		bool at_end = i + 1 == count || k->cells[i + 1].stack != c.stack ||
			      k->cells[i + 1].size_class != c.size_class;
		uint32_t next = at_end ? k->last + 1 : k->cells[i + 1].bucket;

		live.bytes += c.sums[PACK_ALLOCATED].bytes - c.sums[PACK_FREED].bytes;
		live.count += c.sums[PACK_ALLOCATED].count - c.sums[PACK_FREED].count;
		k->cells[i].sums[PACK_LIVE] = live;
		for (uint32_t at = c.bucket + 1; live.count && at < next; at++) {
			struct pack_cell more = { .stack = c.stack,
						  .bucket = at,
						  .size_class = c.size_class };

			more.sums[PACK_LIVE] = live;
			*xpush(k->cells, k->cell_count, k->cell_room) = more;
		}
		if (at_end)
			live = (struct weight){ 0 };
	}
}

uint64_t pack_number(const uint8_t id[16])
{
	uint64_t number;

	memcpy(&number, id, sizeof(number));
	return number;
}

static void put_facts(struct packing *k, const char *file, const struct fleet_settings *s)
{
	struct buf texts[ORIGINS] = { 0 };
	const struct totals *t = &k->m->totals;
	struct pack_facts facts = {
		.kind = "recording", .settings = s, .release = s->release, .file = file
	};

	for (unsigned i = 0; i < ORIGINS; i++) {
		buf_text(&texts[i], "");
		origin_text(k->m, (enum origin)i, &texts[i]);
	}
	facts.id = texts[ORIGIN_RECORDING].data;
	facts.service = *s->service ? s->service : texts[ORIGIN_SERVICE].data;
	facts.host = texts[ORIGIN_HOST].data;
	facts.build = texts[ORIGIN_BUILD].data;
	facts.command = texts[ORIGIN_COMMAND].data;
	facts.started = k->start_ns / NS;
	facts.ended = (k->start_ns + model_runtime_ns(k->m)) / NS;
	facts.pid = (uint32_t)model_info_number(k->m, "pid", 0);
	facts.allocated_bytes = t->allocated_bytes;
	facts.allocated_count = t->allocations;
	facts.leaked_bytes = t->live_bytes;
	facts.leaked_count = t->live_count;
	facts.peak_bytes = t->peak_bytes;
	facts.peak_count = t->peak_count;
	pack_facts(k->p, &facts);
	for (unsigned i = 0; i < ORIGINS; i++)
		buf_release(&texts[i]);
}

void pack_recording(struct parcel *p, const struct view *v, const char *file,
		    const struct fleet_settings *s, uint32_t step)
{
	const struct model *m = v->model;
	struct packing k = { .p = p,
			     .v = v,
			     .m = m,
			     .clock = model_clock(m),
			     .start_ns = model_start_ns(m),
			     .step_ns = step * NS };
	struct measuring peak = measuring_of(m, MEASURE_PEAK, 0);

	p->recording = pack_number(m->reader.header.id);
	k.last = bucket_of(&k, k.clock.end);
	put_facts(&k, file, s);
	k.stack_batch = p->count;
	parcel_add(p, "stacks", (uint32_t)(k.start_ns / NS / 86400));
	for (uint32_t row = 0; row < m->allocations.count; row++)
		pack_row(&k, &peak, row);
	pack_removed(&k);
	pack_live(&k);
	pack_cells(p, k.cells, k.cell_count, k.stacks, step);
	map_release(&k.stack_of);
	map_release(&k.cell_of);
	stack_frames_release(&k.frames);
	free(k.named);
	free(k.stacks);
	free(k.cells);
}
