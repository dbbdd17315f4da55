/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stretches of addresses.  See areas.h.
 *
 * A bit for each unit of each grain that was ever touched; so memory is a 128th of the address
 * space in use, however many blocks there were.  Large blocks are kept as they are. */
#include "query/areas.h"

#include <string.h>

#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/allocator.h"

#define GRAIN (1ull << AREA_GRAIN_BITS)
#define GRAIN_WORDS (GRAIN / AREA_UNIT / 64)
#define LARGE (4 * GRAIN)
#define HEADER 16u /* from the start of glibc's chunk to the block */
#define SHARED 8u  /* of the next chunk, that belong to the block */

struct marking {
	struct map grain_of; /* by address / GRAIN: position below */
	struct grain {
		uint64_t number;
		uint64_t bits[GRAIN_WORDS];
	} * *grains;
	size_t count, room;
	struct areas large;
	uint64_t last_number;
	struct grain *last;
};

void areas_add(struct areas *a, uint64_t start, uint64_t end)
{
	*xpush(a->rows, a->count, a->room) = (struct area){ start, end };
}

struct area area_of_row(const struct model *m, uint32_t row, bool glibc)
{
	const struct columns *c = &m->allocations;
	uint64_t start = columns_address(c, row),
		 size = columns_size(c, row) + columns_slack_of(c, row);
	uint64_t end = start + (size ? size : 1);

	if (glibc && start > HEADER && size >= SHARED) {
		start -= HEADER;
		end -= SHARED;
	}
	start -= start % AREA_UNIT;
	end += (AREA_UNIT - end % AREA_UNIT) % AREA_UNIT;
	return end > start ? (struct area){ start, end }
			   : (struct area){ start, start + AREA_UNIT };
}

static struct grain *grain_at(struct marking *k, uint64_t number)
{
	uint64_t at;

	if (k->last && k->last_number == number)
		return k->last;
	if (map_number(&k->grain_of, number, &at)) {
		*xpush(k->grains, k->count, k->room) = xcalloc(1, sizeof(**k->grains));
		k->grains[at]->number = number;
	}
	k->last_number = number;
	return k->last = k->grains[at];
}

static void mark(struct marking *k, struct area a)
{
	if (a.end - a.start > LARGE) {
		areas_add(&k->large, a.start, a.end);
		return;
	}
	for (uint64_t at = a.start; at < a.end;) {
		struct grain *g = grain_at(k, at / GRAIN);
		uint64_t border = (at / GRAIN + 1) * GRAIN;
		uint64_t end = a.end < border ? a.end : border;
		uint64_t bit = at % GRAIN / AREA_UNIT, last = bit + (end - at) / AREA_UNIT;

		for (; bit < last; bit = (bit / 64 + 1) * 64) {
			uint64_t n = last - bit < 64 - bit % 64 ? last - bit : 64 - bit % 64;

			g->bits[bit / 64] |= (n == 64 ? UINT64_MAX : (1ull << n) - 1) << bit % 64;
		}
		at = end;
	}
}

static void mark_view(struct marking *k, const struct view *v, uint64_t at)
{
	const struct columns *c = &v->model->allocations;
	bool glibc = allocator_is_glibc(v->model);

	VIEW_EACH(v, 0, c->count, row)
	if (at == NEVER || (columns_allocated_at(c, row) <= at && columns_freed_at(c, row) > at))
		mark(k, area_of_row(v->model, row, glibc));
}

static void marking_release(struct marking *k)
{
	for (size_t i = 0; i < k->count; i++)
		free(k->grains[i]);
	free(k->grains);
	map_release(&k->grain_of);
	areas_release(&k->large);
}

ORDER(by_start, struct area, RISING(start))

void areas_join(struct areas *a, uint64_t gap)
{
	size_t n = 0;

	SORT(a->rows, a->count, by_start);
	for (size_t i = 0; i < a->count; i++) {
		if (n && a->rows[i].start <= a->rows[n - 1].end + gap) {
			a->rows[n - 1].end = MAX(a->rows[n - 1].end, a->rows[i].end);
		} else {
			a->rows[n++] = a->rows[i];
		}
	}
	a->count = n;
}

static void take_grain(struct areas *a, const struct grain *g)
{
	uint64_t base = g->number * GRAIN, start = UINT64_MAX;

	for (uint64_t w = 0; w < GRAIN_WORDS; w++) {
		if (g->bits[w] == (start == UINT64_MAX ? 0 : UINT64_MAX))
			continue;
		for (unsigned bit = 0; bit < 64; bit++) {
			uint64_t at = base + (w * 64 + bit) * AREA_UNIT;
			bool set = g->bits[w] >> bit & 1;

			if (set && start == UINT64_MAX) {
				start = at;
			} else if (!set && start != UINT64_MAX) {
				areas_add(a, start, at);
				start = UINT64_MAX;
			}
		}
	}
	if (start != UINT64_MAX)
		areas_add(a, start, base + GRAIN);
}

void areas_exact(struct areas *a, const struct view *v, uint64_t at)
{
	auto_release(marking_release) struct marking k = { 0 };

	*a = (struct areas){ 0 };
	mark_view(&k, v, at);
	for (size_t i = 0; i < k.count; i++)
		take_grain(a, k.grains[i]);
	for (size_t i = 0; i < k.large.count; i++)
		areas_add(a, k.large.rows[i].start, k.large.rows[i].end);
	areas_join(a, 0);
}

/* One worker's part of areas_coarse(). */
struct coarse {
	struct areas areas;
	struct map seen;
	uint64_t last;
};

struct coarse_work {
	const struct view *v;
	bool glibc;
	uint64_t gap;
	struct coarse *parts; /* by worker */
};

static void mark_coarse(void *context, unsigned worker, uint64_t from, uint64_t count)
{
	const struct coarse_work *w = context;
	struct coarse *p = &w->parts[worker];
	uint64_t value;

	VIEW_EACH(w->v, from, count, row)
	{
		struct area b = area_of_row(w->v->model, row, w->glibc);
		uint64_t first = b.start / GRAIN, behind = (b.end - 1) / GRAIN + 1;

		if (first == p->last && behind == first + 1)
			continue;
		if (behind == first + 1) {
			p->last = first;
			if (!map_number(&p->seen, first, &value))
				continue;
		}
		areas_add(&p->areas, first * GRAIN, behind * GRAIN);
		if (p->areas.count > 1u << 16)
			areas_join(&p->areas, w->gap);
	}
}

void areas_coarse(struct areas *a, const struct view *v, uint64_t gap)
{
	unsigned workers = parallel_workers();
	struct coarse_work w = { .v = v, .glibc = allocator_is_glibc(v->model), .gap = gap };

	w.parts = xcalloc(workers, sizeof(*w.parts));
	for (unsigned i = 0; i < workers; i++)
		w.parts[i].last = UINT64_MAX;
	parallel_for(v->model->allocations.count, VIEW_BLOCK, mark_coarse, &w);
	*a = (struct areas){ 0 };
	for (unsigned i = 0; i < workers; i++) {
		const struct areas *part = &w.parts[i].areas;

		for (size_t k = 0; k < part->count; k++)
			areas_add(a, part->rows[k].start, part->rows[k].end);
		areas_release(&w.parts[i].areas);
		map_release(&w.parts[i].seen);
	}
	free(w.parts);
	areas_join(a, gap);
}

void areas_release(struct areas *a)
{
	free(a->rows);
	*a = (struct areas){ 0 };
}
