/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups of rows that need no names: stacks, threads, calls, sizes, lifetimes.  See group.h; groups
 * by the frames of stacks are in group_frames.c, labels and order in group_sort.c. */
#include "query/group.h"

#include <string.h>

#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/clock.h"
#include "query/group_frames.h"

#define LANES                                                                                      \
	4 /* rows next to each other add to different sums: they need not wait for each other */

const struct group_key group_keys[] = {
	{ "stack", GROUP_STACK, true, false, "the whole stack" },
	{ "responsible", GROUP_RESPONSIBLE, true, false,
	  "the function that is responsible: the first of the program's own" },
	{ "function", GROUP_FUNCTION, true, false, "every function of the stack" },
	{ "source", GROUP_SOURCE, true, false, "every source line of the stack" },
	{ "module", GROUP_MODULE, true, false, "every program or library of the stack" },
	{ "thread", GROUP_THREAD, false, false, "the thread that allocated" },
	{ "call", GROUP_CALL, false, false, "malloc, calloc, realloc …" },
	{ "size", GROUP_SIZE, false, true, "powers of two" },
	{ "size_class", GROUP_SIZE_CLASS, false, true,
	  "four steps to a doubling, like allocators" },
	{ "lifetime", GROUP_LIFETIME, false, true, "decades, and what was never freed" },
	{ 0 },
};

const struct group_key *group_key_find(const char *name)
{
	return FIND_ROW(k, group_keys,
			!strcmp(k->name, name) ||
				(k->kind == GROUP_SIZE_CLASS && !strcmp(name, "size-class")) ||
				(k->kind == GROUP_STACK && !strcmp(name, "backtrace")));
}

/* 0: no bytes; n: 2^(n-1) to 2^n - 1. */
static inline uint32_t power_class(uint64_t size)
{
	return size ? 64 - (uint32_t)__builtin_clzll(size) : 0;
}

/* 0: no bytes; 1: to 8; 2: to 16; then steps of 16 to 128, and four to each doubling. */
static inline uint32_t step_class(uint64_t size)
{
	uint32_t log;

	if (size <= 16)
		return size > 8 ? 2 : size > 0;
	if (size <= 128)
		return 2 + (uint32_t)(size - 1) / 16;
	log = 63 - (uint32_t)__builtin_clzll(size - 1); /* 2^log < size <= 2^(log+1); log >= 7 */
	return 10 + (log - 7) * 4 + (uint32_t)((size - 1) >> (log - 2) & 3);
}

static uint64_t step_top(uint32_t class)
{
	uint32_t log = 7 + (class - 10) / 4, step = (class - 10) % 4;

	if (class <= 2)
		return class * 8;
	if (class < 10)
		return (class - 1) * 16;
	return (1ull << log) + ((uint64_t)(step + 1) << (log - 2));
}

void group_size_bounds(enum group_kind kind, uint32_t class, uint64_t *ret_low, uint64_t *ret_high)
{
	if (kind == GROUP_SIZE) {
		*ret_low = class ? 1ull << (class - 1) : 0;
		*ret_high = class ? (class < 64 ? 1ull << class : 0) - 1 : 0;
		return;
	}
	*ret_low = class ? step_top(class - 1) + 1 : 0;
	*ret_high = step_top(class);
}

struct grouping {
	const struct view *v;
	enum group_kind kind;
	const struct summary *summary;
	struct model_clock clock;
	uint64_t decades[GROUP_LIFETIMES]; /* in ticks: where the next one begins */
	uint32_t classes, lanes;
	struct summary_sums **sums; /* by worker, then by lane and class */
};

static uint32_t lifetime_class(const struct grouping *g, uint64_t ticks)
{
	uint32_t class = 0;

	while (class < GROUP_LIFETIMES - 1 && ticks >= g->decades[class])
		class ++;
	return class;
}

static inline __attribute__((always_inline)) uint32_t
class_of(const struct grouping *g, enum group_kind kind, const struct columns *c, uint32_t row)
{
	switch (kind) {
	case GROUP_THREAD:
		return tags_thread(columns_tags(c, row));
	case GROUP_CALL:
		return tags_call(columns_tags(c, row));
	case GROUP_SIZE:
		return power_class(columns_size(c, row));
	case GROUP_SIZE_CLASS:
		return step_class(columns_size(c, row));
	case GROUP_LIFETIME:
		return columns_freed_at(c, row) == NEVER
			       ? GROUP_NEVER_FREED
			       : lifetime_class(g, columns_freed_at(c, row) -
							   columns_allocated_at(c, row));
	default:
		return summary_row_of(g->summary, columns_stack(c, row));
	}
}

/* One loop for each kind: what kind it is is known when it is compiled. */
static inline __attribute__((always_inline)) void
sum_kind(const struct grouping *g, enum group_kind kind, uint32_t lanes, struct summary_sums *sums,
	 const struct columns *c, uint32_t first, uint32_t count)
{
	for (uint32_t base = first; base < first + count; base += 64) {
		for (uint64_t word = view_word(g->v, base / 64); word; word &= word - 1) {
			uint32_t row = base + (uint32_t)__builtin_ctzll(word);
			uint32_t lane = row % lanes * g->classes;

			summary_count(&sums[class_of(g, kind, c, row) + lane], columns_size(c, row),
				      columns_slack_of(c, row), columns_allocated_at(c, row),
				      columns_freed_at(c, row));
		}
	}
}

static void sum_window(const struct grouping *g, struct summary_sums *sums, const struct columns *c,
		       uint32_t first, uint32_t count)
{
	switch (g->kind) {
	case GROUP_THREAD:
		sum_kind(g, GROUP_THREAD, LANES, sums, c, first, count);
		return;
	case GROUP_CALL:
		sum_kind(g, GROUP_CALL, LANES, sums, c, first, count);
		return;
	case GROUP_SIZE:
		sum_kind(g, GROUP_SIZE, LANES, sums, c, first, count);
		return;
	case GROUP_SIZE_CLASS:
		sum_kind(g, GROUP_SIZE_CLASS, LANES, sums, c, first, count);
		return;
	case GROUP_LIFETIME:
		sum_kind(g, GROUP_LIFETIME, LANES, sums, c, first, count);
		return;
	default:
		sum_kind(g, GROUP_STACK, 1, sums, c, first, count);
	}
}

static void group_sum_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct grouping *g = context;
	unsigned wanted = WANT_size | WANT_allocated_at | WANT_freed_at;
	struct columns_window w;

	if (g->kind == GROUP_THREAD || g->kind == GROUP_CALL)
		wanted |= WANT_tags;
	else if (g->summary)
		wanted |= WANT_stack;
	EACH_WINDOW(at, n, first, count)
	sum_window(g, g->sums[worker], view_window(g->v, &w, at, n, wanted), at, n);
}

static uint32_t classes_of(const struct grouping *g)
{
	switch (g->kind) {
	case GROUP_THREAD:
		return (uint32_t)g->v->model->tables.threads.count;
	case GROUP_CALL:
		return 128;
	case GROUP_SIZE:
		return 65;
	case GROUP_SIZE_CLASS:
		return 10 + (64 - 7) * 4;
	case GROUP_LIFETIME:
		return GROUP_LIFETIMES + 1;
	default:
		return g->summary->count;
	}
}

/* One entry for each class; the caller frees it. */
static struct summary_sums *sum_view(struct grouping *g)
{
	unsigned workers = parallel_workers();
	uint32_t entries = g->classes * g->lanes;
	struct summary_sums *total;

	g->sums = xcalloc(workers, sizeof(*g->sums));
	for (unsigned w = 0; w < workers; w++) {
		g->sums[w] = xcalloc((size_t)entries + 1, sizeof(**g->sums));
		for (uint32_t i = 0; i < entries; i++)
			g->sums[w][i] = SUMMARY_NOTHING;
	}
	parallel_for(g->v->model->allocations.count, VIEW_BLOCK, group_sum_block, g);
	total = g->sums[0];
	for (unsigned w = 0; w < workers; w++) {
		for (uint32_t i = w ? 0 : g->classes; i < entries; i++)
			if (g->sums[w][i].count)
				summary_add(&total[i % g->classes], &g->sums[w][i]);
		if (w)
			free(g->sums[w]);
	}
	free(g->sums);
	g->sums = NULL;
	return total;
}

/* Without a filter the summary has it all, unless something was removed. */
static struct summary_sums *sum_stacks(struct grouping *g)
{
	struct summary_sums *sums;

	if (g->v->model->tables.removed.count)
		return sum_view(g);
	sums = xcalloc(g->classes + 1, sizeof(*sums));
	for (uint32_t i = 0; i < g->classes; i++)
		sums[i] = g->summary->rows[i].sums;
	return sums;
}

static void list_stacks(struct groups *out, const struct summary *s,
			const struct summary_sums *matched)
{
	out->rows = xcalloc(s->count + 1, sizeof(*out->rows));
	for (uint32_t i = 0; i < s->count; i++)
		if (matched[i].count)
			out->rows[out->count++] = (struct group){
				.id = s->rows[i].stack,
				.call = s->rows[i].call,
				.matched = matched[i],
				.self = matched[i],
				.all = s->rows[i].sums,
			};
}

static void list_classes(struct groups *out, const struct summary_sums *matched,
			 const struct summary_sums *all, uint32_t classes)
{
	out->rows = xcalloc(classes + 1, sizeof(*out->rows));
	for (uint32_t i = 0; i < classes; i++)
		if (matched[i].count)
			out->rows[out->count++] = (struct group){
				.id = i,
				.matched = matched[i],
				.self = matched[i],
				.all = all[i],
			};
}

/* The sums of everything, for what the summary does not know. */
static struct summary_sums *sum_everything(struct grouping *g)
{
	const struct view *v = g->v;
	struct view whole = { .model = v->model, .count = v->model->allocations.count };
	struct summary_sums *all;

	g->v = &whole;
	all = sum_view(g);
	g->v = v;
	return all;
}

struct groups *groups_new(const struct view *v, const struct group_key *key)
{
	struct grouping g = { .v = v, .kind = key->kind, .clock = model_clock(v->model) };
	struct groups *out = xcalloc(1, sizeof(*out));
	struct summary_sums *matched, *all = NULL;
	uint64_t ns = 1000;

	for (unsigned i = 0; i < GROUP_LIFETIMES; i++, ns *= 10)
		g.decades[i] = clock_ticks(&g.clock, ns < 9000000000000000000ull ? ns : UINT64_MAX);
	out->view = v;
	out->key = key;
	if (key->from_stack)
		g.summary = model_summary(v->model);
	g.classes = classes_of(&g);
	g.lanes = key->from_stack ? 1 : LANES;
	matched = key->from_stack && !v->bits ? sum_stacks(&g) : sum_view(&g);
	if (key->kind == GROUP_STACK) {
		list_stacks(out, g.summary, matched);
	} else if (key->from_stack) {
		group_frames(out, g.summary, matched);
	} else {
		if (v->bits)
			all = sum_everything(&g);
		list_classes(out, matched, all ? all : matched, g.classes);
	}
	free(matched);
	free(all);
	return out;
}

struct groups *groups_free(struct groups *g)
{
	if (!g)
		return NULL;
	free(g->rows);
	free(g);
	return NULL;
}
