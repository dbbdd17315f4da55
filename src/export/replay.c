/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every call in order of time, as words for a program that does them again: docs/replay.md.
 *
 * The first word is how many blocks are alive at most, and frames are numbered by how often they
 * are entered, so all calls are walked twice: to count, and to write.  Between two calls the stack
 * goes up and down the trie of stacks, over their nearest common node. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "export/export.h"
#include "model/stats.h"
#include "query/calls.h"
#include "query/clock.h"
#include "query/slots.h"

enum replay_op { REPLAY_END, REPLAY_ALLOC, REPLAY_FREE, REPLAY_REALLOC, REPLAY_DOWN, REPLAY_UP };

struct replay {
	const struct export *x;
	struct sink *out; /* NULL: only counting */
	const struct nodes *nodes;
	struct replay_node {
		uint32_t parent, depth; /* nodes that are not known have neither */
	} * tree;
	uint32_t *stack; /* nodes of the call before, by depth: 0 is outside all frames */
	uint32_t stack_depth;
	uint32_t *path;	     /* room for the deepest stack */
	uint64_t *entered;   /* by place: how often; then its number */
	uint32_t live, most; /* blocks */
	uint64_t done;
	struct slots slots;
	struct model_clock clock;
};

static void put(struct replay *r, enum replay_op op, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t words[] = { op, a, b, c };

	buf_add(&r->out->buf, words, sizeof(words));
}

static uint32_t known(const struct replay *r, uint32_t node)
{
	return node_is_known(r->nodes, node) ? node : 0;
}

/* Parents have smaller numbers than what they call. */
static void measure_nodes(struct replay *r)
{
	uint32_t deepest = 0;

	r->tree = xcalloc(r->nodes->count + 1, sizeof(*r->tree));
	for (uint32_t i = 1; i < r->nodes->count; i++) {
		if (!known(r, i))
			continue;
		r->tree[i].parent = known(r, r->nodes->parent[i]);
		r->tree[i].depth = r->tree[r->tree[i].parent].depth + 1;
		deepest = r->tree[i].depth > deepest ? r->tree[i].depth : deepest;
	}
	r->path = xcalloc(deepest + 1, sizeof(*r->path));
	r->stack = xcalloc(deepest + 1, sizeof(*r->stack));
}

static void down(struct replay *r, uint32_t node)
{
	uint32_t place = places_of_node(r->x->view->places, node);

	if (r->out)
		put(r, REPLAY_DOWN, r->entered[place], 0, 0);
	else
		r->entered[place]++;
}

/* Returns to the nearest frame that both stacks have, and calls from there. */
static void go_to(struct replay *r, uint32_t stack)
{
	uint32_t to = known(r, stack), n = 0;

	while (r->tree[to].depth > r->stack_depth || r->stack[r->tree[to].depth] != to) {
		r->path[n++] = to;
		to = r->tree[to].parent;
	}
	for (; r->stack_depth > r->tree[to].depth; r->stack_depth--)
		if (r->out)
			put(r, REPLAY_UP, 0, 0, 0);
	while (n) {
		down(r, r->path[--n]);
		r->stack[++r->stack_depth] = r->path[n];
	}
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
	uint64_t size = c->kind == CALLS_FREE ? 0 : columns_size(columns, c->row);
	uint32_t slot = slot_of(r, c);

	if (slot != SLOT_NONE)
		put(r, ops[c->kind], slot, clock_ns(&r->clock, c->at) / 1000, size);
}

static void walk(struct replay *r)
{
	const struct columns *columns = &r->x->view->model->allocations;
	struct calls calls = calls_of(r->x->view);
	struct call c;

	r->stack_depth = r->live = 0;
	while (calls_next(&calls, &c)) {
		uint32_t stack =
			c.kind == CALLS_FREE ? columns->free_stack[c.row] : columns->stack[c.row];

		/* A free that nobody saw the stack of happens where the program was. */
		if (c.kind != CALLS_FREE || known(r, stack))
			go_to(r, stack);
		r->live += c.kind == CALLS_ALLOC;
		r->live -= c.kind == CALLS_FREE;
		r->most = r->live > r->most ? r->live : r->most;
		if (!(++r->done & 0xffff))
			export_progress(r->x, r->done, 4ull * r->x->view->count);
		if (!r->out)
			continue;
		put_call(r, &c);
		if (sink_turn(r->out))
			break;
	}
}

static int more_entered(const void *a, const void *b, void *context)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *entered = context;

	if (entered[x] != entered[y])
		return entered[x] > entered[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Frames that are entered most have the lowest numbers: a player with few functions knows those. */
static void number_frames(struct replay *r)
{
	uint32_t count = places_count(r->x->view->places) + 1;
	uint32_t *order = xcalloc(count, sizeof(*order));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), more_entered, r->entered);
	for (uint32_t i = 0; i < count; i++)
		r->entered[order[i]] = i;
	free(order);
}

static int write_replay(const struct export *x, struct sink *out, struct err *err)
{
	struct replay r = {
		.x = x,
		.nodes = &x->view->model->tables.nodes,
		.entered = xcalloc(places_count(x->view->places) + 1, sizeof(*r.entered)),
		.clock = model_clock(x->view->model),
	};
	uint64_t word;

	measure_nodes(&r);
	walk(&r);
	number_frames(&r);
	slots_init(&r.slots, 1, 1);
	r.out = out;
	word = r.most;
	buf_add(&out->buf, &word, sizeof(word));
	walk(&r);
	word = REPLAY_END;
	buf_add(&out->buf, &word, sizeof(word));
	slots_release(&r.slots);
	free(r.tree);
	free(r.stack);
	free(r.path);
	free(r.entered);
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
