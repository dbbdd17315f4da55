/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows and events that verdicts are made from.  See verdict_events.h. */
#include "query/verdict_events.h"

#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/series.h"

#define EXIT_LOOK 4096u /* allocations that may belong to the exit */
#define EXIT_SHARE 0.1	/* of the run, at most */
#define PIECES_MAX 16u
#define AHEAD 16u /* frees are all over the columns: asked for that much earlier */

/* A program that ends frees what it has, and allocates next to nothing: that is not its work. */
static uint64_t end_of_work(const struct model *m, uint64_t from, uint64_t to)
{
	const struct columns *c = &m->allocations;
	const struct free_order *frees = model_free_order(m);
	uint64_t work = to, earliest = to - (uint64_t)((double)(to - from) * EXIT_SHARE);

	for (uint32_t k = 0; k <= c->count && k < EXIT_LOOK; k++) {
		uint64_t at = k < c->count ? columns_allocated_at(c, c->count - 1 - k) + 1 : 0;
		uint32_t first = free_order_from(frees, c, at < earliest ? earliest : at);
		uint32_t freed = frees->count - first;

		/* With no allocation that late, it begins with what is freed first. */
		if (k <= 4 + freed / 50 && freed)
			work = at < earliest ? columns_freed_at(c, frees->rows[first]) : at;
		if (at < earliest)
			break;
	}
	return work;
}

/* Parts of the time in which nothing was allocated do not count as work. */
void work_find(struct work *w, uint32_t *ret_rows, const struct model *m)
{
	const struct columns *c = &m->allocations;
	uint64_t from, to;
	unsigned total = 0;

	series_whole(m, &from, &to);
	w->from = from;
	w->to = end_of_work(m, from, to);
	if (w->to <= w->from)
		w->to = w->from + 1;
	w->ns_per_tick = (double)(model_ns(m, to) - model_ns(m, from)) / (double)(to - from);
	*ret_rows = columns_from(c, w->to);
	w->active[0] = 0;
	for (unsigned i = 0; i < CURVE_SLOTS; i++) {
		uint64_t a = from + (uint64_t)((double)(w->to - from) * i / CURVE_SLOTS);
		uint64_t b = from + (uint64_t)((double)(w->to - from) * (i + 1) / CURVE_SLOTS);

		total += columns_from(c, a) != columns_from(c, b);
		w->active[i + 1] = total;
	}
	for (unsigned i = 1; i <= CURVE_SLOTS; i++)
		w->active[i] = total ? w->active[i] / total : (double)i / CURVE_SLOTS;
	work_cut(w);
}

struct finding {
	struct outliving *o;
	const struct view *view;
	uint64_t to;
};

static void find_outliving(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct finding *f = context;
	struct outliving_rows *r = &f->o->of_worker[worker];
	const struct columns *c = &f->view->model->allocations;

	for (uint32_t row = (uint32_t)first; row < first + count; row++) {
		if (columns_freed_at(c, row) < f->to || !view_has(f->view, row))
			continue;
		*xpush(r->rows, r->count, r->room) = row;
	}
}

void outliving_find(struct outliving *o, const struct view *v, const struct work *w)
{
	struct finding f = { o, v, w->to };

	o->workers = parallel_workers();
	o->of_worker = xcalloc(o->workers, sizeof(*o->of_worker));
	parallel_for(v->model->allocations.count, VIEW_BLOCK, find_outliving, &f);
}

void outliving_release(struct outliving *o)
{
	for (unsigned i = 0; i < o->workers; i++)
		free(o->of_worker[i].rows);
	free(o->of_worker);
	o->of_worker = NULL;
}

/* Rows and frees are cut into as many pieces each.  What of a piece is in a set is listed, in order
 * of time, and counted by set; then the lists go where their sets are. */
struct piece_list {
	struct scratch memory;
	uint32_t *rows, count, room;
};

struct collecting {
	struct set_events *e;
	uint32_t rows, freed; /* how many of both there are */
	unsigned pieces;
	uint64_t *members;	     /* a bit for each row: its stack is in a set */
	struct piece_list *lists[2]; /* of allocations, of frees; by piece */
	uint32_t *counts[2];	     /* by piece and set: how many; then, where the next goes */
};

static uint32_t piece_border(const struct collecting *g, uint32_t count, unsigned piece)
{
	uint32_t border = (uint32_t)((uint64_t)count * piece / g->pieces);

	/* No two pieces share a word of bits. */
	return piece < g->pieces ? border / 64 * 64 : count;
}

static uint32_t set_of_stack(const struct set_events *e, uint32_t stack)
{
	return e->set_of[stack < e->view->model->tables.nodes.count ? stack : 0];
}

static void list_row(struct piece_list *l, uint32_t row)
{
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 1024;
		l->rows = scratch_resize(&l->memory, l->room * sizeof(*l->rows));
	}
	l->rows[l->count++] = row;
}

static void list_allocations(struct collecting *g, unsigned piece)
{
	const struct set_events *e = g->e;
	const struct columns *c = &e->view->model->allocations;
	uint32_t *counts = g->counts[0] + (size_t)piece * e->sets;
	uint32_t end = piece_border(g, g->rows, piece + 1);

	for (uint32_t row = piece_border(g, g->rows, piece); row < end; row++) {
		uint32_t set = set_of_stack(e, columns_stack(c, row));

		if (!set || !view_has(e->view, row))
			continue;
		list_row(&g->lists[0][piece], row);
		counts[set - 1]++;
		g->members[row / 64] |= 1ull << row % 64;
	}
}

static void list_frees(struct collecting *g, unsigned piece)
{
	const struct set_events *e = g->e;
	const struct model *m = e->view->model;
	const struct columns *c = &m->allocations;
	const uint32_t *order = model_free_order(m)->rows;
	uint32_t *counts = g->counts[1] + (size_t)piece * e->sets;
	uint32_t end = piece_border(g, g->freed, piece + 1);

	for (uint32_t i = piece_border(g, g->freed, piece); i < end; i++) {
		uint32_t row = order[i];

		if (i + AHEAD < end) {
			uint32_t later = order[i + AHEAD];

			if (g->members[later / 64] >> later % 64 & 1)
				columns_prefetch_stack(c, later);
		}
		if (!(g->members[row / 64] >> row % 64 & 1))
			continue;
		list_row(&g->lists[1][piece], row);
		counts[set_of_stack(e, columns_stack(c, row)) - 1]++;
	}
}

static void list_pieces_of_allocations(void *context, unsigned worker, uint64_t first,
				       uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		list_allocations(context, (unsigned)i);
}

static void list_pieces_of_frees(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		list_frees(context, (unsigned)i);
}

/* What was listed goes to its set. */
static void place_pieces(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	const struct collecting *g = context;
	const struct set_events *e = g->e;
	const struct columns *c = &e->view->model->allocations;

	for (uint64_t i = first; i < first + count; i++) {
		unsigned kind = (unsigned)(i / g->pieces), piece = (unsigned)(i % g->pieces);
		struct piece_list *l = &g->lists[kind][piece];
		uint32_t *next = g->counts[kind] + (size_t)piece * e->sets;
		const uint64_t *begins = kind ? e->first_free : e->first_allocation;
		uint32_t *to = kind ? e->frees : e->allocations;

		for (uint32_t k = 0; k < l->count; k++) {
			uint32_t set;

			if (k + AHEAD < l->count)
				columns_prefetch_stack(c, l->rows[k + AHEAD]);
			set = set_of_stack(e, columns_stack(c, l->rows[k])) - 1;
			to[begins[set] + next[set]++] = l->rows[k];
		}
		scratch_release(&l->memory);
	}
}

/* Counts become positions behind the set's first one; returns where each set begins. */
static uint64_t *place_sets(const struct collecting *g, uint32_t *counts)
{
	uint32_t sets = g->e->sets;
	uint64_t *begins = xcalloc((size_t)sets + 1, sizeof(*begins)), sum = 0;

	for (uint32_t set = 0; set < sets; set++) {
		uint32_t inside = 0;

		begins[set] = sum;
		for (unsigned piece = 0; piece < g->pieces; piece++) {
			uint32_t *count = &counts[(size_t)piece * sets + set], n = *count;

			*count = inside;
			inside += n;
		}
		sum += inside;
	}
	begins[sets] = sum;
	return begins;
}

static uint32_t *room_for(struct scratch *memory, uint64_t count)
{
	uint32_t *ret = scratch_resize(memory, (count + 1) * sizeof(*ret));

	scratch_seal(memory);
	return ret;
}

void set_events_collect(struct set_events *e, const struct work *w, uint32_t work_rows)
{
	const struct model *m = e->view->model;
	struct collecting g = {
		.e = e,
		.rows = work_rows,
		.freed = free_order_from(model_free_order(m), &m->allocations, w->to),
		.pieces = parallel_workers() * 2 < PIECES_MAX ? parallel_workers() * 2 : PIECES_MAX,
	};

	g.members = xcalloc((size_t)m->allocations.count / 64 + 1, sizeof(*g.members));
	for (unsigned i = 0; i < 2; i++) {
		g.lists[i] = xcalloc(g.pieces, sizeof(*g.lists[i]));
		g.counts[i] = xcalloc((size_t)g.pieces * e->sets + 1, sizeof(*g.counts[i]));
	}
	parallel_for(g.pieces, 1, list_pieces_of_allocations, &g);
	parallel_for(g.pieces, 1, list_pieces_of_frees, &g);
	e->first_allocation = place_sets(&g, g.counts[0]);
	e->first_free = place_sets(&g, g.counts[1]);
	e->allocations = room_for(&e->memory[0], e->first_allocation[e->sets]);
	e->frees = room_for(&e->memory[1], e->first_free[e->sets]);
	parallel_for((uint64_t)g.pieces * 2, 1, place_pieces, &g);
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < g.pieces; k++) /* of a loop that was cut short */
			scratch_release(&g.lists[i][k].memory);
		free(g.lists[i]);
		free(g.counts[i]);
	}
	free(g.members);
}

void set_events_release(struct set_events *e)
{
	free(e->first_allocation);
	free(e->first_free);
	scratch_release(&e->memory[0]);
	scratch_release(&e->memory[1]);
}
