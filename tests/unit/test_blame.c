/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blame against a table of pages that is filled block by block, with samples at memory maps that
 * are all chance. */
#include "unit.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/allocator.h"
#include "query/blame.h"
#include "query/series.h"
#include "query/slab.h"
#include "query/weigh.h"
#include "random_recording.h"
#include "wire/pages.h"
#include "wire/varint.h"

#define ROUNDS 80
#define BASE (0x7f0000000000ull - (2u << 20)) /* below all blocks, and their heads */
#define SPAN (64ull << 20)
#define PAGE 4096u
#define PAGES (SPAN / PAGE)
#define MAPS 12u
#define SAMPLES 4u

/* What one sample has: by page, the map that it is in plus one, and whether it is resident. */
struct sample {
	uint64_t at;
	uint8_t map[PAGES], resident[PAGES];
};

struct samples {
	struct sample *rows;
	uint32_t count;
	uint64_t starts[MAPS + 1]; /* of maps, in pages; every fourth is a gap */
};

static bool is_gap(uint32_t map)
{
	return map % 4 == 3;
}

static void add_runs(struct regions *r, const struct sample *l, uint64_t number, uint64_t first,
		     uint64_t pages, uint64_t page)
{
	struct region_pages p = { .at = l->at,
				  .number = number,
				  .first = first,
				  .page = PAGE,
				  .runs = r->page_bytes_count };
	bool resident = false;

	r->page_bytes = xreallocarray(r->page_bytes, p.runs + pages * 2 + 16, 1);
	for (uint64_t i = 0, run; i < pages; i += run, resident = !resident) {
		uint8_t *end = r->page_bytes + r->page_bytes_count;

		for (run = 0; i + run < pages && l->resident[page + i + run] == resident; run++)
			;
		r->page_bytes_count += (size_t)(varint_put(end, run) - end);
	}
	p.size = r->page_bytes_count - p.runs;
	*xpush(r->pages, r->pages_count, r->pages_room) = p;
}

static void add_record(struct regions *r, struct map_sample_record record)
{
	*xpush(r->records, r->record_count, r->record_room) = record;
	r->samples[r->sample_count - 1].count++;
}

static void add_sample(struct regions *r, const struct samples *all, const struct sample *l)
{
	*xpush(r->samples, r->sample_count, r->sample_room) =
		(struct map_sample){ .began = l->at, .ended = l->at, .first = r->record_count };
	for (uint32_t i = 0; i < MAPS; i++) {
		uint64_t first = all->starts[i], pages = all->starts[i + 1] - first, resident = 0;

		if (is_gap(i) || !pages)
			continue;
		for (uint64_t k = 0; k < pages; k++)
			resident += l->resident[first + k];
		if (r->sample_count == 1)
			add_record(r, (struct map_sample_record){
					      .kind = REGIONS_ADD,
					      .number = i + 1,
					      .found = { .start = BASE + first * PAGE,
							 .length = pages * PAGE } });
		add_record(r, (struct map_sample_record){ .kind = REGIONS_USAGE,
							  .number = i + 1,
							  .usage = { .rss = resident * 4 } });
		if (!resident || resident == pages)
			continue;
		for (uint64_t k = 0; k < pages; k += PAGES_STRETCH)
			add_runs(r, l, i + 1, k, MIN(pages - k, PAGES_STRETCH), first + k);
	}
}

static void random_samples(struct samples *all, struct model *m, uint64_t *state, uint32_t count)
{
	uint64_t from, to;

	series_whole(m, &from, &to);
	*all = (struct samples){ .rows = xcalloc(count + 1, sizeof(*all->rows)), .count = count };
	for (uint32_t i = 1; i < MAPS; i++)
		all->starts[i] =
			MIN(all->starts[i - 1] + random_below(state, i < 4 ? 40 : 2 * PAGES / MAPS),
			    PAGES);
	all->starts[MAPS] = PAGES;
	for (uint32_t i = 0; i < count; i++) {
		struct sample *l = &all->rows[i];
		uint32_t run = 0;

		l->at = from + (to - from) * (i + 1) / (count + 1);
		for (uint32_t k = 0; k < MAPS; k++)
			memset(&l->map[all->starts[k]], is_gap(k) ? 0 : (int)k + 1,
			       all->starts[k + 1] - all->starts[k]);
		for (uint64_t k = 0; k < PAGES; k++) {
			if (!run--) {
				run = random_below(state, random_below(state, 3) ? 4 : 300);
				l->resident[k] = random_below(state, 2);
			} else {
				l->resident[k] = k && l->resident[k - 1];
			}
			l->resident[k] &= l->map[k] != 0;
		}
		add_sample(&m->tables.regions, all, l);
	}
}

/* --- The simple way */

struct place {
	uint64_t start, end; /* of the unit, as offsets */
};

struct simple {
	const struct view *v;
	const struct samples *samples;
	uint64_t at;
	enum blame_unit unit;
	bool jemalloc; /* is what there is, but for blocks that are inside another */
};

static bool is_alive(const struct simple *s, uint32_t row)
{
	const struct columns *c = &s->v->model->allocations;

	return columns_allocated_at(c, row) <= s->at && columns_freed_at(c, row) > s->at;
}

static uint64_t usable_of(const struct columns *c, uint32_t row)
{
	return columns_size(c, row) + columns_slack(c, row);
}

/* The bytes that a block and its head take. */
static struct place range_of(const struct simple *s, uint32_t row)
{
	const struct columns *c = &s->v->model->allocations;
	unsigned flags = tags_flags(columns_tags(c, row));
	unsigned head = s->jemalloc || (flags & TAG_INSIDE) == TAG_INSIDE ? 0
			: flags & TAG_MMAPPED				  ? 16
									  : 8;
	uint64_t usable = usable_of(c, row);

	return (struct place){ columns_address(c, row) - head - BASE,
			       columns_address(c, row) + (usable ? usable : 1) - BASE };
}

/* Every slab that a block of this size can be in begins some blocks before it, with a page. */
static bool simple_slab(uint64_t address, uint64_t usable, struct place *ret)
{
	static const uint64_t small[] = { 8,	16,   32,   48,	  64,	80,   96,    112,   128,
					  160,	192,  224,  256,  320,	384,  448,   512,   640,
					  768,	896,  1024, 1280, 1536, 1792, 2048,  2560,  3072,
					  3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336 };
	uint64_t size = PAGE;

	if (!ANY(i, sizeof(small) / sizeof(*small), small[i] == usable))
		return false;
	while (size % usable)
		size += PAGE;
	for (uint64_t before = 0; before * usable < size; before++)
		if ((address - before * usable) % PAGE == 0) {
			*ret = (struct place){ address - before * usable,
					       address - before * usable + size };
			return true;
		}
	return false;
}

/* The units that a block is in, one after the other; `n` from 0 on. */
static bool unit_at(const struct simple *s, uint32_t row, uint64_t n, struct place *ret)
{
	const struct columns *c = &s->v->model->allocations;
	struct place range = range_of(s, row);
	uint64_t size = s->unit == BLAME_64K ? 64 << 10 : s->unit == BLAME_2M ? 2 << 20 : PAGE;

	if (s->unit == BLAME_SLAB && simple_slab(range.start + BASE, usable_of(c, row), ret)) {
		ret->start -= BASE;
		ret->end -= BASE;
		return n == 0;
	}
	ret->start = (range.start / size + n) * size;
	ret->end = ret->start + size;
	return ret->start < range.end;
}

static bool touches(const struct simple *s, uint32_t row, struct place unit)
{
	struct place is;

	for (uint64_t n = 0; unit_at(s, row, n, &is); n++)
		if (is.start == unit.start && is.end == unit.end)
			return true;
	return false;
}

/* Does a live block have a byte in the map? */
static bool has_block(const struct simple *s, const struct sample *l, uint8_t map)
{
	const struct columns *c = &s->v->model->allocations;

	for (uint32_t row = 0; row < c->count; row++) {
		struct place range = range_of(s, row);

		for (uint64_t page = range.start / PAGE; page * PAGE < range.end; page++)
			if (is_alive(s, row) && l->map[page] == map)
				return true;
	}
	return false;
}

static uint64_t count_pages(const struct simple *s, const struct sample *l, struct place unit)
{
	bool whole = s->unit == BLAME_64K || s->unit == BLAME_2M;
	uint64_t sum = 0;

	for (uint64_t page = unit.start / PAGE; page < unit.end / PAGE && page < PAGES; page++)
		sum += l->resident[page] && (!whole || has_block(s, l, l->map[page]));
	return sum * PAGE;
}

static bool sees(const struct sample *l, struct place unit)
{
	for (uint64_t page = unit.start / PAGE; page < unit.end / PAGE && page < PAGES; page++)
		if (l->map[page])
			return true;
	return false;
}

static uint64_t simple_resident(const struct simple *s, struct place unit)
{
	const struct columns *c = &s->v->model->allocations;
	const struct sample *before = NULL, *after = NULL;
	bool old = false, stays = false;

	for (uint32_t i = 0; i < s->samples->count; i++) {
		if (s->samples->rows[i].at <= s->at)
			before = &s->samples->rows[i];
		else if (!after)
			after = &s->samples->rows[i];
	}
	for (uint32_t row = 0; row < c->count; row++) {
		if (!is_alive(s, row) || !touches(s, row, unit))
			continue;
		old |= before && columns_allocated_at(c, row) <= before->at;
		stays |= after && columns_freed_at(c, row) > after->at;
	}
	before = before && sees(before, unit) ? before : NULL;
	after = after && sees(after, unit) ? after : NULL;
	if ((before && old) || (after && stays)) {
		before = old ? before : NULL;
		after = stays ? after : NULL;
	} else if (unit.end - unit.start == PAGE) {
		return PAGE;
	}
	if (before && after && after->at - s->at < s->at - before->at)
		before = NULL;
	if (before || after)
		return count_pages(s, before ? before : after, unit);
	return unit.end - unit.start;
}

/* --- Compared */

/* Everybody's parts, by stack; those of blocks that are not in the view behind them. */
static uint64_t check_holders(const struct simple *s, const struct blame *b)
{
	const struct columns *c = &s->v->model->allocations;
	const struct summary *sum = model_summary(s->v->model);
	uint32_t keys = 2 * sum->count;
	struct blamed *due = xcalloc(keys, sizeof(*due));
	uint8_t *here = xcalloc(keys, 1);
	uint64_t resident = 0, shared_units = 0;

	for (uint32_t first = 0; first < c->count; first++) {
		struct place unit;

		for (uint64_t n = 0; is_alive(s, first) && unit_at(s, first, n, &unit); n++) {
			uint64_t bytes;
			uint32_t holders = 0, only = 0, k = 0;
			bool met = false;

			/* Each unit is looked at with the first row that is in it. */
			for (uint32_t row = 0; row < first && !met; row++)
				met = is_alive(s, row) && touches(s, row, unit);
			if (met)
				continue;
			memset(here, 0, keys);
			for (uint32_t row = first; row < c->count; row++)
				if (is_alive(s, row) && touches(s, row, unit))
					here[summary_row_of(sum, columns_stack(c, row)) +
					     (view_has(s->v, row) ? 0 : sum->count)] = 1;
			for (uint32_t i = 0; i < keys; i++) {
				holders += here[i];
				only = here[i] ? i : only;
			}
			bytes = simple_resident(s, unit);
			resident += bytes;
			if (holders == 1) {
				due[only].alone += bytes;
				due[only].alone_units++;
				continue;
			}
			shared_units++;
			for (uint32_t i = 0; i < keys; i++)
				if (here[i]) {
					due[i].shared += bytes / holders + (k++ < bytes % holders);
					due[i].shared_units++;
				}
		}
	}
	assert_int_equal(b->resident, resident);
	assert_int_equal(b->holder_count, sum->count);
	for (uint32_t i = 0; i < sum->count; i++) {
		assert_int_equal(b->holders[i].alone, due[i].alone);
		assert_int_equal(b->holders[i].shared, due[i].shared);
		assert_int_equal(b->holders[i].alone_units, due[i].alone_units);
		assert_int_equal(b->holders[i].shared_units, due[i].shared_units);
	}
	/* What everybody keeps is all that is kept. */
	assert_int_equal(b->total.alone + b->total.shared + b->outside.alone + b->outside.shared,
			 resident);
	free(here);
	free(due);
	return shared_units;
}

static void check_weights(const struct simple *s, const struct blame *b)
{
	const struct measuring how = { .measure = MEASURE_PINNED, .at = s->at };
	const struct summary *sum = model_summary(s->v->model);
	struct stack_weights w;
	uint64_t bytes = 0, blocks = 0;

	if (s->unit != blame_usual_unit(s->v->model))
		return;
	weigh_stacks(&w, s->v, &how, false);
	for (uint32_t i = 0; i < w.count; i++) {
		const struct blamed *k = &b->holders[summary_row_of(sum, w.rows[i].stack)];

		assert_int_equal(w.rows[i].weight.bytes, k->alone + k->shared);
		assert_int_equal(w.rows[i].weight.count, k->live.count);
		bytes += w.rows[i].weight.bytes;
		blocks += w.rows[i].weight.count;
	}
	assert_int_equal(bytes, b->total.alone + b->total.shared);
	assert_int_equal(blocks, b->total.live.count);
	assert_int_equal(w.total.bytes, bytes);
	stack_weights_release(&w);
	/* Told apart by thread, more share: no byte is lost. */
	weigh_stacks(&w, s->v, &how, true);
	if (!s->v->bits)
		assert_int_equal(w.total.bytes, b->resident);
	assert_int_equal(w.total.count, blocks);
	for (uint32_t i = 1; i < w.count; i++)
		assert_true(w.rows[i - 1].thread < w.rows[i].thread ||
			    (w.rows[i - 1].thread == w.rows[i].thread &&
			     w.rows[i - 1].stack < w.rows[i].stack));
	stack_weights_release(&w);
}

static void check_live(const struct simple *s, const struct blame *b)
{
	const struct columns *c = &s->v->model->allocations;
	struct weight live = { 0 };
	uint64_t usable = 0;

	for (uint32_t row = 0; row < c->count; row++)
		if (is_alive(s, row) && view_has(s->v, row)) {
			live.bytes += columns_size(c, row);
			live.count++;
			usable += usable_of(c, row);
		}
	assert_int_equal(b->total.live.bytes, live.bytes);
	assert_int_equal(b->total.live.count, live.count);
	assert_int_equal(b->total.usable, usable);
}

static struct view random_view(const struct model *m, uint64_t *state, bool all)
{
	struct view v = { .model = m };

	if (all)
		return v;
	v.bits = xcalloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t i = 0; i < m->allocations.count; i++)
		v.bits[i / 64] |= (uint64_t)(random_below(state, 3) > 0) << i % 64;
	return v;
}

static void random_moments_are_exact(void **context)
{
	static const char *const jemallocs[][2] = { { "allocator", "/usr/lib/libjemalloc.so.2" },
						    { 0 } };
	uint64_t state = 77, shared = 0, from, to;

	unsetenv("MEMOIR_PACK_EVENTS"); /* rows are changed here */
	for (unsigned i = 0; i < ROUNDS; i++) {
		bool jemalloc = i % 3 == 0;
		struct model *m = random_recording(&(struct random_options){
			.seed = i + 1,
			.events = i * 20,
			.facts = jemalloc ? (const char *(*)[2])jemallocs : NULL });
		struct view v = random_view(m, &state, i % 4 < 2);
		struct samples samples;

		/* Large blocks, those inside another allocator. */
		for (uint32_t row = 0; row < m->allocations.count; row++)
			m->allocations.plain.tags[row] |= (uint64_t)random_below(&state, 4) << 58;
		random_samples(&samples, m, &state, i % (SAMPLES + 1));
		series_whole(m, &from, &to);
		for (unsigned unit = 0; unit < BLAME_UNITS; unit++) {
			struct simple s = { &v, &samples,
					    from + random_below(&state, (uint32_t)(to - from) + 1),
					    unit, jemalloc };
			struct blame_options o = { .at = s.at,
						   .unit = unit,
						   .holders = model_summary(m)->count };
			struct blame b;

			if (samples.count && !random_below(&state, 3)) /* just then */
				s.at = o.at = samples.rows[random_below(&state, samples.count)].at;
			if (unit == BLAME_SLAB && !jemalloc)
				continue;
			blame_init(&b, &v, &o);
			shared += check_holders(&s, &b);
			check_live(&s, &b);
			check_weights(&s, &b);
			blame_release(&b);
		}
		free(samples.rows);
		free(v.bits);
		model_free(m);
	}
	assert_true(shared > 500);
}

/* Stacks put together: what only they are in is theirs alone, whoever of them it is. */
static void holders_of_several_stacks(void **context)
{
	struct model *m = random_recording(&(struct random_options){ .seed = 5, .events = 900 });
	const struct summary *sum = model_summary(m);
	uint32_t *holder_of = xcalloc(sum->count + 1, sizeof(*holder_of));
	struct view v = { .model = m };
	struct blame_options o = { .at = m->totals.peak_at, .unit = BLAME_PAGE, .holders = 1 };
	struct blame b;

	o.holder_of = holder_of;
	blame_init(&b, &v, &o);
	assert_true(b.resident > 100 * PAGE);
	assert_int_equal(b.holders[0].alone, b.resident);
	assert_int_equal(b.holders[0].alone_units, b.units);
	assert_int_equal(b.holders[0].shared, 0);
	assert_int_equal(b.sampled_at, NEVER);
	blame_release(&b);
	for (uint32_t i = 0; i < sum->count; i++)
		holder_of[i] = i % 2;
	o.holders = 2;
	blame_init(&b, &v, &o);
	assert_true(b.holders[0].alone && b.holders[1].alone && b.holders[0].shared);
	assert_int_equal(b.total.alone + b.total.shared, b.resident);
	blame_release(&b);
	free(holder_of);
	model_free(m);
}

static void slabs_of_all_classes(void **context)
{
	struct slab slab;

	for (uint64_t usable = 1; usable <= SLAB_SMALL_MAX + 4096; usable++) {
		struct place due;
		uint64_t start = BASE + 7 * PAGE;

		if (!simple_slab(start, usable, &due)) {
			assert_false(slab_find(start, usable, &slab));
			continue;
		}
		for (uint64_t at = start; at < start + (due.end - due.start); at += usable) {
			assert_true(slab_find(at, usable, &slab));
			assert_int_equal(slab.start, start);
			assert_int_equal(slab.pages * (uint64_t)PAGE, due.end - due.start);
		}
		assert_false(slab_find(start + 4, usable, &slab));
	}
}

UNIT(blame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_moments_are_exact),
		cmocka_unit_test(holders_of_several_stacks),
		cmocka_unit_test(slabs_of_all_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
