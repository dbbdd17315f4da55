/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows of the fleet's tables.  See pack.h.  Columns are in the order of parcel.c's table. */
#include "fleet/pack.h"

#include <time.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/order.h"
#include "fleet/rows.h"

#define DAY 86400u

void pack_facts(struct parcel *p, const struct pack_facts *facts)
{
	const struct fleet_settings *s = facts->settings;
	uint32_t day = (uint32_t)(facts->started / DAY);
	struct parcel_batch *b = parcel_add(p, "recordings", day);
	struct buf *out = &b->content;
	const char *const texts[] = { facts->id,    facts->kind,    facts->service, facts->host,
				      facts->build, facts->release, facts->command };
	const uint64_t numbers[] = { facts->allocated_bytes, facts->allocated_count,
				     facts->leaked_bytes,    facts->leaked_count,
				     facts->peak_bytes,	     facts->peak_count };

	b->rows = 1;
	rows_put_u64(out, p->recording);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		rows_put_text(out, texts[i] ? texts[i] : "");
	rows_put_size(out, s->label_count);
	for (unsigned i = 0; i < s->label_count; i++)
		rows_put_text(out, s->labels[i]);
	rows_put_u32(out, (uint32_t)facts->started);
	rows_put_u32(out, (uint32_t)facts->ended);
	rows_put_u16(out, (uint16_t)day);
	rows_put_u32(out, facts->pid);
	rows_put_text(out, facts->file);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		rows_put_u64(out, numbers[i]);
	rows_put_u32(out, (uint32_t)time(NULL));
}

struct pack_hash pack_stack(struct parcel_batch *b, const struct pack_stack *s)
{
	auto_buf struct buf row = { 0 };
	XXH128_hash_t hash;

	rows_put_text(&row, s->call);
#define COLUMN(put, field)                                                                         \
	rows_put_size(&row, s->count);                                                             \
	for (size_t i = 0; i < s->count; i++)                                                      \
		put(&row, s->frames[i].field);
	COLUMN(rows_put_text, function)
	COLUMN(rows_put_text, file)
	COLUMN(rows_put_text, module)
	COLUMN(rows_put_u32, line)
	COLUMN(rows_put_u64, address)
	COLUMN(rows_put_u8, kind)
#undef COLUMN
	rows_put_u32(&row, s->depth);
	rows_put_text(&row, s->responsible);
	hash = XXH3_128bits(row.data, row.size);
	rows_put_u64(&b->content, hash.low64);
	rows_put_u64(&b->content, hash.high64);
	buf_add(&b->content, row.data, row.size);
	b->rows++;
	return (struct pack_hash){ hash.low64, hash.high64 };
}

unsigned pack_size_class(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

ORDER_WITH(compare_cells, struct pack_cell, struct pack_hash,
	   RISING(bucket) ?: COMPARE(context[x->stack].high, context[y->stack].high)
			  ?: COMPARE(context[x->stack].low, context[y->stack].low)
			  ?: RISING(size_class))

static void put_weight(struct buf *out, const struct weight *w)
{
	rows_put_u64(out, w->bytes);
	rows_put_u64(out, w->count);
}

/* A batch that takes one row more of such a day. */
static struct parcel_batch *batch_for(struct parcel *p, struct parcel_batch *b, const char *table,
				      uint32_t day)
{
	return b && b->day == day && b->rows < PARCEL_ROWS ? b : parcel_add(p, table, day);
}

static void put_place(struct parcel *p, struct parcel_batch *b, uint32_t bucket, uint32_t step)
{
	rows_put_u16(&b->content, (uint16_t)b->day);
	rows_put_u32(&b->content, bucket * step);
	rows_put_u64(&b->content, p->recording);
	rows_put_u64(&b->content, b->id);
	b->rows++;
}

static uint32_t day_of(const struct pack_cell *c, uint32_t step)
{
	return (uint32_t)((uint64_t)c->bucket * step / DAY);
}

static void put_samples(struct parcel *p, const struct pack_cell *cells, size_t count,
			const struct pack_hash *stacks, uint32_t step)
{
	struct parcel_batch *b = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct pack_cell *c = &cells[i];

		b = batch_for(p, b, "samples", day_of(c, step));
		put_place(p, b, c->bucket, step);
		rows_put_u64(&b->content, stacks[c->stack].low);
		rows_put_u64(&b->content, stacks[c->stack].high);
		rows_put_u8(&b->content, c->size_class);
		for (unsigned k = 0; k < PACK_SUMS; k++)
			put_weight(&b->content, &c->sums[k]);
		rows_put_real(&b->content, c->live_variance);
	}
}

static void put_curves(struct parcel *p, const struct pack_cell *cells, size_t count, uint32_t step)
{
	struct parcel_batch *b = NULL;

	for (size_t i = 0, end; i < count; i = end) {
		struct weight sums[PACK_SUMS] = { 0 };

		for (end = i; end < count && cells[end].bucket == cells[i].bucket; end++)
			for (unsigned k = 0; k < PACK_SUMS; k++)
				weight_add(&sums[k], &cells[end].sums[k]);
		b = batch_for(p, b, "curves", day_of(&cells[i], step));
		put_place(p, b, cells[i].bucket, step);
		put_weight(&b->content, &sums[PACK_ALLOCATED]);
		put_weight(&b->content, &sums[PACK_FREED]);
		put_weight(&b->content, &sums[PACK_LIVE]);
	}
}

/* Cells by day, stack and class. */
struct by_day {
	const struct pack_hash *stacks;
	uint32_t buckets; /* of a day */
};
ORDER_WITH(compare_days, struct pack_cell, struct by_day,
	   COMPARE(x->bucket / context->buckets, y->bucket / context->buckets)
		   ?: COMPARE(context->stacks[x->stack].high, context->stacks[y->stack].high)
		   ?: COMPARE(context->stacks[x->stack].low, context->stacks[y->stack].low)
		   ?: RISING(size_class) ?: RISING(bucket))

static void put_total(struct parcel *p, struct parcel_batch *b, const struct pack_cell *first,
		      const struct pack_cell *last, const struct pack_hash *stack, uint32_t step)
{
	static const enum pack_sum columns[] = { PACK_ALLOCATED, PACK_FREED, PACK_LEAKED, PACK_PEAK,
						 PACK_TEMPORARY };

	rows_put_u16(&b->content, (uint16_t)b->day);
	rows_put_u64(&b->content, p->recording);
	rows_put_u64(&b->content, b->id);
	rows_put_u64(&b->content, stack->low);
	rows_put_u64(&b->content, stack->high);
	rows_put_u8(&b->content, first->size_class);
	rows_put_u32(&b->content, first->bucket * step);
	rows_put_u32(&b->content, last->bucket * step);
	for (size_t k = 0; k < sizeof(columns) / sizeof(*columns); k++) {
		struct weight sum = { 0 };

		for (const struct pack_cell *c = first; c <= last; c++)
			weight_add(&sum, &c->sums[columns[k]]);
		put_weight(&b->content, &sum);
	}
	b->rows++;
}

static bool same_day(const struct pack_cell *a, const struct pack_cell *b, const struct by_day *d)
{
	return a->bucket / d->buckets == b->bucket / d->buckets && a->size_class == b->size_class &&
	       d->stacks[a->stack].low == d->stacks[b->stack].low &&
	       d->stacks[a->stack].high == d->stacks[b->stack].high;
}

static void put_totals(struct parcel *p, struct pack_cell *cells, size_t count,
		       const struct pack_hash *stacks, uint32_t step)
{
	struct by_day days = { stacks, DAY / step };
	struct parcel_batch *b = NULL;

	SORT_WITH(cells, count, compare_days, &days);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && same_day(&cells[i], &cells[end], &days); end++)
			continue;
		b = batch_for(p, b, "totals", day_of(&cells[i], step));
		put_total(p, b, &cells[i], &cells[end - 1], &stacks[cells[i].stack], step);
	}
}

void pack_cells(struct parcel *p, struct pack_cell *cells, size_t count,
		const struct pack_hash *stacks, uint32_t step)
{
	SORT_WITH(cells, count, compare_cells, stacks);
	put_samples(p, cells, count, stacks, step);
	put_curves(p, cells, count, step);
	put_totals(p, cells, count, stacks, step);
}
