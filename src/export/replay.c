/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every call in order of time, as words for a program that does them again: docs/replay.md.
 *
 * The first word is how many blocks are alive at most, and frames are numbered by how often they
 * are entered, so all calls are walked twice: to count, and to write.  Between two calls the stack
 * goes up and down the trie of stacks, over their nearest common node.
 *
 * Stacks that have little in common make a hundred frames of it, twice for each call.  So nothing
 * is done frame by frame: counting adds to the two ends of a way only, and the words for entering
 * a frame are written once for each node, in the order of spines.h, and go to the file from there.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/rope.h"
#include "base/scratch.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "query/calls.h"
#include "query/clock.h"
#include "query/slots.h"
#include "query/spines.h"

#define ROPE_TEXT (256u << 10) /* of either so much is written at once */
#define ROPE_PIECES 8192u
#define RECENT 4096u /* ways */
#define PIECES 64u

enum replay_op { REPLAY_END, REPLAY_ALLOC, REPLAY_FREE, REPLAY_REALLOC, REPLAY_DOWN, REPLAY_UP };

struct replay_words {
	uint64_t op, a, b, c;
};

struct way {
	uint32_t from, to, common;
};

struct replay {
	const struct export *x;
	struct sink *out;
	struct rope rope;
	struct spines spines;
	uint32_t stack;		    /* of the call before */
	struct replay_words *downs; /* by place of spines.h */
	struct scratch downs_memory;
	struct replay_words *ups; /* as many as the deepest stack has frames */
	uint64_t *entered;	  /* by location of locations.h: how often; then its number */
	uint32_t most;		  /* blocks that are alive at once */
	uint64_t done;
	struct slots slots;
	struct model_clock clock;
	struct way recent[RECENT];
};

/* A stretch of the time, with what is carried from one to the next. */
struct piece {
	uint64_t from, to, calls;
	uint32_t first, last; /* stacks */
	bool moves;	      /* there are such */
	int64_t live, most;   /* blocks, more than at its start */
};

struct counting {
	const struct replay *r;
	_Atomic int64_t *ways; /* by node: ways down that end here, less those that begin here */
	struct piece pieces[PIECES];
	struct way (*recent)[RECENT]; /* by worker */
	_Atomic uint64_t done;
};

/* The frame that two stacks have in common: most ways are gone again and again. */
static uint32_t common_of(const struct replay *r, struct way *recent, uint32_t from, uint32_t to)
{
	uint64_t both = (uint64_t)from << 32 | to;
	struct way *w = &recent[(both ^ both >> 29) * 0x9e3779b97f4a7c15ull >> 52];

	if (w->from != from || w->to != to)
		*w = (struct way){ from, to, spines_common(&r->spines, from, to) };
	return w->common;
}

/* Where a call is made, 0 being outside all frames; false for a free that nobody saw the stack of:
 * it happens where the program was. */
static bool stack_of(const struct replay *r, const struct call *c, uint32_t *ret_stack)
{
	const struct columns *columns = &r->x->view->model->allocations;
	bool freed = c->kind == CALLS_FREE;

	*ret_stack = spines_known(&r->spines, freed ? columns_free_stack(columns, c->row)
						    : columns_stack(columns, c->row));
	return !freed || *ret_stack;
}

static void count_way(struct counting *k, struct way *recent, uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	atomic_fetch_add_explicit(&k->ways[to], 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&k->ways[common_of(k->r, recent, from, to)], 1,
				  memory_order_relaxed);
}

static void count_piece(struct counting *k, struct piece *p, struct way *recent)
{
	struct calls calls = calls_between(k->r->x->view, p->from, p->to);
	uint32_t stack;
	struct call c;

	while (calls_next(&calls, &c)) {
		if (stack_of(k->r, &c, &stack)) {
			if (p->moves)
				count_way(k, recent, p->last, stack);
			else
				p->first = stack;
			p->last = stack;
			p->moves = true;
		}
		p->live += c.kind == CALLS_ALLOC;
		p->live -= c.kind == CALLS_FREE;
		p->most = p->live > p->most ? p->live : p->most;
		p->calls++;
	}
}

static void count_pieces(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct counting *k = context;

	for (uint64_t i = first; i < first + count; i++) {
		uint64_t done;

		count_piece(k, &k->pieces[i], k->recent[worker]);
		done = atomic_fetch_add(&k->done, k->pieces[i].calls) + k->pieces[i].calls;
		if (!worker)
			export_progress(k->r->x, done, 4ull * k->r->x->view->count);
	}
}

/* A frame is entered by every way down that ends in it or further inside, unless that begins there
 * too.  Parents have smaller numbers than what they call. */
static void count_entered(struct replay *r, _Atomic int64_t *ways)
{
	const struct locations *locations = r->x->view->locations;

	for (uint32_t i = r->spines.node_count; i-- > 1;) {
		if (!spines_known(&r->spines, i))
			continue;
		ways[r->spines.of[i].parent] += ways[i];
		r->entered[locations_of_node(locations, i)] += (uint64_t)ways[i];
	}
}

/* How often frames are entered, and how much is alive at most: in pieces of the time. */
static void count_calls(struct replay *r)
{
	const struct model *m = r->x->view->model;
	struct counting k = { .r = r };
	uint64_t borders[PIECES + 1];
	uint32_t stack = 0;
	unsigned count;
	int64_t live = 0;

	model_free_order(m);
	count = event_iterator_cut(m, 0, NEVER, PIECES, borders);
	k.ways = xcalloc((size_t)r->spines.node_count + 1, sizeof(*k.ways));
	k.recent = xcalloc(parallel_workers(), sizeof(*k.recent));
	for (unsigned i = 0; i < count; i++)
		k.pieces[i] = (struct piece){ .from = borders[i], .to = borders[i + 1] };
	parallel_for(count, 1, count_pieces, &k);
	for (unsigned i = 0; i < count; i++) {
		const struct piece *p = &k.pieces[i];

		if (p->moves) {
			count_way(&k, k.recent[0], stack, p->first);
			stack = p->last;
		}
		r->most = live + p->most > r->most ? (uint32_t)(live + p->most) : r->most;
		live += p->live;
	}
	r->done = k.done;
	count_entered(r, k.ways);
	free(k.ways);
	free(k.recent);
}

static void keep_words(struct replay *r, const struct replay_words *words, uint32_t count)
{
	rope_keep(&r->rope, (const char *)words, count * sizeof(*words));
}

/* Returns to the nearest frame that both stacks have, and calls from there. */
static void go_to(struct replay *r, uint32_t to)
{
	const struct spines *s = &r->spines;
	struct spine_run runs[SPINES_RUNS];
	uint32_t outside;
	unsigned count;

	if (to == r->stack)
		return;
	outside = s->of[common_of(r, r->recent, r->stack, to)].depth;
	keep_words(r, r->ups, s->of[r->stack].depth - outside);
	count = spines_runs(s, to, outside, runs);
	for (unsigned i = 0; i < count; i++)
		keep_words(r, &r->downs[runs[i].first], runs[i].count);
	r->stack = to;
}

static uint32_t slot_of(struct replay *r, const struct call *c)
{
	if (c->kind == CALLS_ALLOC)
		return slots_begin(&r->slots, c->row, 0);
	if (c->kind == CALLS_REALLOC)
		return slots_move(&r->slots, c->old, c->row);
	return slots_end(&r->slots, c->row, 0);
}

static void put_call(struct replay *r, const struct call *c)
{
	static const enum replay_op ops[] = { REPLAY_ALLOC, REPLAY_FREE, REPLAY_REALLOC };
	const struct columns *columns = &r->x->view->model->allocations;
	uint32_t slot = slot_of(r, c);
	struct replay_words words = {
		.op = ops[c->kind],
		.a = slot,
		.b = clock_ns(&r->clock, c->at) / 1000,
		.c = c->kind == CALLS_FREE ? 0 : columns_size(columns, c->row),
	};

	if (slot != SLOT_NONE)
		buf_add(&r->rope.text, &words, sizeof(words));
}

static void put_calls(struct replay *r)
{
	struct calls calls = calls_of(r->x->view);
	uint32_t stack;
	struct call c;

	while (calls_next(&calls, &c)) {
		if (stack_of(r, &c, &stack))
			go_to(r, stack);
		put_call(r, &c);
		if (!(++r->done & 0xffff))
			export_progress(r->x, r->done, 4ull * r->x->view->count);
		if ((r->rope.text.size >= ROPE_TEXT || r->rope.count >= ROPE_PIECES) &&
		    sink_rope(r->out, &r->rope))
			break;
	}
	sink_rope(r->out, &r->rope);
}

ORDER_WITH(more_entered, uint32_t, uint64_t, COMPARE(context[*y], context[*x]) ?: COMPARE(*x, *y))

/* Frames that are entered most have the lowest numbers: a player with few functions knows those. */
static void number_frames(struct replay *r)
{
	uint32_t count = locations_count(r->x->view->locations) + 1;
	auto_free uint32_t *order = xcalloc(count, sizeof(*order));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	SORT_WITH(order, count, more_entered, r->entered);
	for (uint32_t i = 0; i < count; i++)
		r->entered[order[i]] = i;
}

/* What entering and leaving frames is in words. */
static void make_words(struct replay *r)
{
	const struct spines *s = &r->spines;

	r->downs = scratch_resize(&r->downs_memory, ((size_t)s->count + 1) * sizeof(*r->downs));
	scratch_seal(&r->downs_memory);
	for (uint32_t i = 0; i < s->count; i++)
		r->downs[i] = (struct replay_words){
			.op = REPLAY_DOWN,
			.a = r->entered[locations_of_node(r->x->view->locations, s->order[i])],
		};
	r->ups = xcalloc((size_t)s->deepest + 1, sizeof(*r->ups));
	for (uint32_t i = 0; i < s->deepest; i++)
		r->ups[i].op = REPLAY_UP;
}

static int write_replay(const struct export *x, struct sink *out, struct err *err)
{
	auto_free struct replay *r = xcalloc(1, sizeof(*r));
	uint64_t word;

	r->x = x;
	r->out = out;
	r->entered = xcalloc(locations_count(x->view->locations) + 1, sizeof(*r->entered));
	r->clock = model_clock(x->view->model);
	spines_init(&r->spines, &x->view->model->tables.nodes, NULL);
	count_calls(r);
	number_frames(r);
	make_words(r);
	slots_init(&r->slots, 1, 1);
	word = r->most;
	buf_add(&out->buf, &word, sizeof(word));
	put_calls(r);
	word = REPLAY_END;
	buf_add(&out->buf, &word, sizeof(word));
	slots_release(&r->slots);
	rope_release(&r->rope);
	scratch_release(&r->downs_memory);
	spines_release(&r->spines);
	free(r->ups);
	free(r->entered);
	return out->error;
}

const struct exporter exporter_replay = {
	.name = "replay",
	.extension = "replay",
	.mime = "application/octet-stream",
	.viewer = "programs that repeat the calls (docs/replay.md); memoir replay needs no export",
	.help = "every call in order of time, to be repeated",
	.binary = true,
	.events_only = true,
	.write = write_replay,
};
