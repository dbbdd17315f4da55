/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is judged, and what of it matters.  See verdict.h.
 *
 * Stacks are put together by their responsible function, or by the pool that they are kept by, and
 * the sum of what they have alive is judged: a leak in a recursive function has as many stacks as
 * blocks, none of which grows.  A stack with much that is of another kind than the sum (a leak in a
 * function that also fills a table) is a verdict of its own. */
#include "query/verdict.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/known_pools.h"
#include "query/responsible.h"
#include "query/verdict_curve.h"
#include "query/verdict_events.h"

#define SHARE 0.01	 /* of the peak: what has that much matters */
#define GROWTH_SHARE 0.1 /* of the peak, that a steady growth would add if the run went on */
#define VOUCHES_MAX 100	 /* times its length, that a run says something about what comes */
#define VOUCHES_DAY 86400.0
#define STEADY_FIT 0.95
#define LATE_TIMES 4 /* what grows has so much less than all from its last half, at most */
#define ALONE_MAX 64 /* stacks of a function that are judged alone */
#define APART_SURE 0.6
#define AHEAD 16 /* events, whose columns are asked for that much earlier */

const struct verdict_row verdict_rows[VERDICTS] = {
	[VERDICT_GROWING] = { "growing", "GROWING", "grows to the end of the run, as a leak does" },
	[VERDICT_UNCLEAR] = { "unclear", "UNCLEAR",
			      "grew until late: record more of the same work" },
	[VERDICT_BOUNDED] = { "bounded", "BOUNDED", "grew and stopped: a cache, a pool, a table" },
	[VERDICT_SAWTOOTH] = { "sawtooth", "SAWTOOTH", "filled and emptied again and again" },
	[VERDICT_START_UP] = { "start-up", "START-UP", "allocated at the start, and kept" },
	[VERDICT_POOL] = { "pool", "POOL", "kept on purpose by a library: no leak" },
};

struct left {
	uint64_t leaked_bytes, leaked_count, kept_bytes, kept_count;
	uint64_t late_bytes; /* kept, and allocated in the last half of the work */
};

/* A stack with something left. */
struct stack_left {
	struct left left;
	uint32_t stack, first_row;
	uint32_t group;
};

/* What is one verdict, if its stacks do the same. */
struct group {
	struct left left;
	const struct known_pool *known;
	uint32_t first, count; /* in struct judging.stacks, most first */
	uint32_t leaking;      /* of them, those that leaked */
	uint32_t part;	       /* the group of those alone, plus one; 0: there is none */
	bool is_part;
	uint32_t set;	      /* of events, plus one; 0: too little to be judged */
	struct verdict *rows; /* of its stacks; those judged alone, then the rest */
	uint32_t row_count;
};

struct judging {
	const struct view *view;
	const struct verdict_options *options;
	struct left held; /* alive when the work was done, and freed at exit, of all stacks */
	struct work work;
	uint32_t work_rows; /* allocations before its end */
	uint32_t late_rows; /* the same of its last half: from this one on */
	double peak, least; /* bytes: the program's, and what may matter */
	struct stack_left *stacks;
	uint32_t stack_count;
	bool both;	   /* groups have parts: those verdicts are wanted, too */
	uint32_t *place;   /* by node: in stacks, plus one; later its set of events, plus one */
	uint8_t *was_held; /* by node: a stack in a group with a part that is not in the part */
	struct group *groups;
	uint32_t group_count;
	struct set_events events;
	uint32_t *groups_of_sets;
	uint8_t *alone; /* by node: among its group's stacks that are judged alone, plus one */
	uint32_t *stack_list; /* of all verdicts */
	struct known_pools *pools;
};

static uint64_t left_bytes(const struct left *l)
{
	return l->leaked_bytes > l->kept_bytes ? l->leaked_bytes : l->kept_bytes;
}

static void left_add(struct left *to, const struct left *l)
{
	to->leaked_bytes += l->leaked_bytes;
	to->leaked_count += l->leaked_count;
	to->kept_bytes += l->kept_bytes;
	to->kept_count += l->kept_count;
	to->late_bytes += l->late_bytes;
}

static uint32_t stack_of(const struct judging *j, uint32_t row)
{
	uint32_t stack = columns_stack(&j->view->model->allocations, row);

	return node_is_known(&j->view->model->tables.nodes, stack) ? stack : 0;
}

static void add_row(struct judging *j, uint32_t row, size_t *room)
{
	const struct columns *c = &j->view->model->allocations;
	uint32_t *place = &j->place[stack_of(j, row)];
	uint64_t size = columns_size(c, row);
	struct stack_left *s;

	if (!*place) {
		*xpush(j->stacks, j->stack_count, *room) =
			(struct stack_left){ .stack = stack_of(j, row), .first_row = row };
		*place = (uint32_t)j->stack_count;
	}
	s = &j->stacks[*place - 1];
	s->first_row = row < s->first_row ? row : s->first_row;
	if (row < j->work_rows) {
		s->left.kept_bytes += size;
		s->left.kept_count++;
		if (row >= j->late_rows)
			s->left.late_bytes += size;
	}
	if (columns_freed_at(c, row) == NEVER) {
		s->left.leaked_bytes += size;
		s->left.leaked_count++;
	} else if (row < j->work_rows) {
		j->held.kept_bytes += size;
		j->held.kept_count++;
	}
}

/* Stacks with blocks that outlive the work; those that leaked, or with `held` all. */
static void find_stacks(struct judging *j)
{
	struct outliving o;
	uint32_t wanted = 0;
	size_t room = 0;

	j->place = xcalloc((size_t)j->view->model->tables.nodes.count + 1, sizeof(*j->place));
	outliving_find(&o, j->view, &j->work);
	for (unsigned w = 0; w < o.workers; w++)
		for (size_t i = 0; i < o.of_worker[w].count; i++)
			add_row(j, o.of_worker[w].rows[i], &room);
	outliving_release(&o);
	for (uint32_t i = 0; i < j->stack_count; i++) {
		const struct left *l = &j->stacks[i].left;

		j->place[j->stacks[i].stack] = 0;
		if (l->leaked_count || (j->options->held && l->kept_count))
			j->stacks[wanted++] = j->stacks[i];
	}
	j->stack_count = wanted;
}

static struct group *group_at(struct judging *j, uint32_t *number, size_t *room)
{
	if (!*number) {
		*xpush(j->groups, j->group_count, *room) = (struct group){ 0 };
		*number = j->group_count;
	}
	return &j->groups[*number - 1];
}

static int by_group(const void *a, const void *b)
{
	const struct stack_left *x = a, *y = b;
	uint64_t p = left_bytes(&x->left), q = left_bytes(&y->left);

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (p != q)
		return p < q ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void find_groups(struct judging *j)
{
	const struct responsible *r = j->view->locations ? responsible_of_view(j->view) : NULL;
	struct known_pools *pools = r ? known_pools_new() : NULL;
	uint32_t units = r ? responsible_units(r) : 1;
	auto_free uint32_t *of_unit = xcalloc((size_t)units + 1, sizeof(*of_unit));
	uint32_t *of_pool = NULL;
	size_t room = 0;

	if (r) {
		known_pools_use(pools, r);
		of_pool = xcalloc(known_pools_count(pools) + 1, sizeof(*of_pool));
	}
	for (uint32_t i = 0; i < j->stack_count; i++) {
		struct stack_left *s = &j->stacks[i];
		const struct known_pool *known = r ? known_pool_of_stack(pools, s->stack) : NULL;
		uint32_t own = 0, *number = &own;
		struct responsible_frame f;
		struct group *g;

		if (known && !j->options->by_stack)
			number = &of_pool[known->number];
		else if (r && !j->options->by_stack)
			number =
				&of_unit[responsible_find(r, s->stack, &f) ? responsible_unit(r, &f)
									   : units];
		g = group_at(j, number, &room);
		g->known = known;
		g->count++;
		g->leaking += s->left.leaked_count != 0;
		left_add(&g->left, &s->left);
		s->group = *number - 1;
	}
	j->pools = pools;
	free(of_pool);
	if (j->stack_count)
		qsort(j->stacks, j->stack_count, sizeof(*j->stacks), by_group);
	for (uint32_t i = 0, k = 0; i < j->group_count; k += j->groups[i++].count)
		j->groups[i].first = k;
}

/* Of groups with stacks that leaked and others, those that leaked are judged once more alone. */
static void part_groups(struct judging *j)
{
	uint32_t groups = j->group_count, stacks = j->stack_count;

	j->groups = xrealloc(j->groups, ((size_t)groups * 2 + 1) * sizeof(*j->groups));
	j->stacks = xrealloc(j->stacks, ((size_t)stacks * 2 + 1) * sizeof(*j->stacks));
	for (uint32_t i = 0; i < groups; i++) {
		struct group *g = &j->groups[i];
		struct group part = { .known = g->known, .first = stacks, .is_part = true };

		if (!g->leaking || g->leaking == g->count)
			continue;
		for (uint32_t k = g->first; k < g->first + g->count; k++) {
			const struct stack_left *s = &j->stacks[k];

			if (!s->left.leaked_count) {
				j->was_held[s->stack] = 1;
				continue;
			}
			left_add(&part.left, &s->left);
			j->stacks[stacks++] = *s;
		}
		part.count = part.leaking = stacks - part.first;
		j->groups[j->group_count++] = part;
		g->part = j->group_count;
	}
	j->stack_count = stacks;
}

/* Sets of events are of groups that may matter. */
static void choose_groups(struct judging *j)
{
	struct set_events *e = &j->events;
	const struct nodes *nodes = &j->view->model->tables.nodes;

	j->groups_of_sets = xcalloc((size_t)j->group_count + 1, sizeof(*j->groups_of_sets));
	for (uint32_t i = 0; i < j->group_count; i++) {
		struct group *g = &j->groups[i];

		if (g->is_part ||
		    (!j->options->all && !g->known && (double)left_bytes(&g->left) < j->least))
			continue;
		j->groups_of_sets[e->sets] = i;
		g->set = ++e->sets;
		for (uint32_t k = g->first; k < g->first + g->count; k++)
			j->place[j->stacks[k].stack] = g->set;
	}
	for (uint32_t i = 1; j->place[0] && i < nodes->count; i++)
		if (!node_is_known(nodes, i))
			j->place[i] = j->place[0];
	e->view = j->view;
	e->set_of = j->place;
	set_events_collect(e, &j->work, j->work_rows);
}

/* Curves that a group's events are added to. */
struct curves {
	struct curve sum;
	struct curve alone[ALONE_MAX];
	unsigned alone_count;
	const bool *apart; /* by stack judged alone: not part of the sum; NULL: all are */
	bool without_held; /* nor are stacks that are not in the part */
	bool by_count;	   /* blocks of no bytes are judged by their number */
};

/* One group's events in time: rows of allocations and of frees, each in order. */
struct two_streams {
	const struct columns *columns;
	const uint32_t *row, *rows_end, *freed, *freed_end;
	uint64_t at, free_at; /* of the next of both */
	bool with_stacks;
};

static void stream_rows(struct two_streams *s)
{
	if (s->rows_end - s->row > AHEAD) {
		columns_prefetch_allocated_at(s->columns, s->row[AHEAD]);
		columns_prefetch_sizes(s->columns, s->row[AHEAD]);
		if (s->with_stacks)
			columns_prefetch_stack(s->columns, s->row[AHEAD]);
	}
	s->at = s->row < s->rows_end ? columns_allocated_at(s->columns, *s->row) : NEVER;
}

static void stream_frees(struct two_streams *s)
{
	if (s->freed_end - s->freed > AHEAD) {
		columns_prefetch_freed_at(s->columns, s->freed[AHEAD]);
		columns_prefetch_sizes(s->columns, s->freed[AHEAD]);
		if (s->with_stacks)
			columns_prefetch_stack(s->columns, s->freed[AHEAD]);
	}
	s->free_at = s->freed < s->freed_end ? columns_freed_at(s->columns, *s->freed) : NEVER;
}

static void draw_event(const struct judging *j, struct curves *c, uint32_t row, uint64_t at,
		       bool is_free)
{
	double size = c->by_count ? 1 : (double)columns_size(&j->view->model->allocations, row);
	unsigned alone = 0;

	if (c->alone_count || c->apart || c->without_held) {
		uint32_t stack = columns_stack(&j->view->model->allocations, row);

		/* What is not known is never judged alone. */
		stack = stack < j->view->model->tables.nodes.count ? stack : 0;
		alone = j->alone[stack];
		if (c->without_held && j->was_held[stack_of(j, row)])
			return;
	}
	if (is_free)
		size = -size;
	if (!alone || !c->apart || !c->apart[alone - 1])
		curve_add(&c->sum, at, size, !is_free);
	if (alone && alone <= c->alone_count)
		curve_add(&c->alone[alone - 1], at, size, !is_free);
}

/* At one stamp a free comes first: realloc ends one block and begins the next. */
static void draw_curves(const struct judging *j, const struct group *g, struct curves *c)
{
	const struct set_events *e = &j->events;
	struct two_streams s = {
		.columns = &j->view->model->allocations,
		.row = e->allocations + e->first_allocation[g->set - 1],
		.rows_end = e->allocations + e->first_allocation[g->set],
		.freed = e->frees + e->first_free[g->set - 1],
		.freed_end = e->frees + e->first_free[g->set],
		.with_stacks = c->alone_count || c->apart || c->without_held,
	};
	uint64_t count = (uint64_t)(s.rows_end - s.row) + (uint64_t)(s.freed_end - s.freed);

	curve_init(&c->sum, &j->work, count);
	for (unsigned i = 0; i < c->alone_count; i++)
		curve_init(&c->alone[i], &j->work, count);
	stream_rows(&s);
	stream_frees(&s);
	while (s.row < s.rows_end || s.freed < s.freed_end) {
		if (s.free_at <= s.at) {
			draw_event(j, c, *s.freed++, s.free_at, true);
			stream_frees(&s);
		} else {
			draw_event(j, c, *s.row++, s.at, false);
			stream_rows(&s);
		}
	}
	curve_end(&c->sum);
	for (unsigned i = 0; i < c->alone_count; i++)
		curve_end(&c->alone[i]);
}

static void curves_release(struct curves *c)
{
	curve_release(&c->sum);
	for (unsigned i = 0; i < c->alone_count; i++)
		curve_release(&c->alone[i]);
}

/* Enough beside the peak, or so steady that it will be.  A run vouches for what comes by its
 * length: of a second it says nothing, of a quarter of an hour a day. */
static double vouched_seconds(const struct work *w)
{
	double seconds = (double)(w->to - w->from) * w->ns_per_tick / 1e9;

	return fmin(seconds * fmin(seconds, VOUCHES_MAX), VOUCHES_DAY);
}

static bool verdict_matters(const struct judging *j, const struct verdict *v)
{
	uint64_t most = v->leaked_bytes > v->kept_bytes ? v->leaked_bytes : v->kept_bytes;

	if (!most || v->class == VERDICT_POOL)
		return false;
	/* Of a table that grows a little the growth counts. */
	if (v->class == VERDICT_GROWING && most / 2 > v->late_bytes)
		most = v->late_bytes * 2;
	return (double)most >= j->peak * SHARE ||
	       (v->class == VERDICT_GROWING && v->fit >= STEADY_FIT &&
		v->confidence >= STEADY_FIT &&
		v->bytes_per_second * vouched_seconds(&j->work) >= j->peak * GROWTH_SHARE);
}

/* What may matter by that, also where it began late. */
static double least_that_matters(const struct judging *j)
{
	double seconds = (double)(j->work.to - j->work.from) * j->work.ns_per_tick / 1e9;
	double times = seconds > 0 ? vouched_seconds(&j->work) / seconds : 0;

	return j->peak * fmin(SHARE, times > 0 ? GROWTH_SHARE / times / 4 : SHARE);
}

/* Nothing that grows, or may, is kept on purpose. */
static bool is_pool(const struct verdict *v)
{
	return v->known && v->class != VERDICT_GROWING &&
	       (v->class != VERDICT_UNCLEAR || v->steps <= 1);
}

static void judge(const struct judging *j, struct verdict *v, const struct left *l,
		  const struct group *g, const struct curve *c)
{
	uint64_t first;
	uint32_t rows;

	*v = (struct verdict){
		.leaked_bytes = l->leaked_bytes,
		.leaked_count = l->leaked_count,
		.kept_bytes = l->kept_bytes,
		.kept_count = l->kept_count,
		.freed_at_exit = !l->leaked_count,
		.most_bytes = l->kept_bytes ? (uint64_t)c->most : 0,
		.known = g->known,
	};
	for (uint32_t i = 0; i < c->count; i++)
		v->allocated_count += c->pieces[i].allocations;
	/* What came after the program's work was done is not in the curve. */
	if (v->allocated_count < v->leaked_count)
		v->allocated_count = v->leaked_count;
	if (v->most_bytes < v->leaked_bytes)
		v->most_bytes = v->leaked_bytes;
	curve_judge(v, c);
	first = j->work.from + (uint64_t)((double)v->first_ns / j->work.ns_per_tick);
	rows = j->work_rows - columns_from(&j->view->model->allocations, first);
	v->bytes_per_allocation = rows ? (double)v->kept_bytes / rows : 0;
	if (v->kept_count)
		v->bytes_per_block = (double)v->kept_bytes / (double)v->kept_count;
	else if (v->leaked_count)
		v->bytes_per_block = (double)v->leaked_bytes / (double)v->leaked_count;
	if (!v->kept_bytes)
		v->bytes_per_second = 0;
	if (is_pool(v))
		v->class = VERDICT_POOL;
	else
		v->known = NULL;
	v->matters = verdict_matters(j, v);
}

/* A stack that does something else than the sum of its function's. */
static bool is_apart(const struct verdict *whole, const struct verdict *own)
{
	if (whole->class != VERDICT_GROWING)
		return own->class == VERDICT_GROWING;
	return own->class > VERDICT_UNCLEAR && own->confidence >= APART_SURE;
}

static void left_out(struct left *from, const struct left *l)
{
	from->leaked_bytes -= l->leaked_bytes;
	from->leaked_count -= l->leaked_count;
	from->kept_bytes -= l->kept_bytes;
	from->kept_count -= l->kept_count;
	from->late_bytes -= l->late_bytes;
}

/* Stacks of a group that are verdicts of their own: how many, and what is left of it. */
static unsigned find_apart(const struct judging *j, const struct group *g, struct curves *c,
			   const struct verdict *whole, struct verdict *own, bool *apart,
			   struct left *rest)
{
	unsigned count = 0;

	*rest = g->left;
	for (unsigned i = 0; i < c->alone_count; i++) {
		const struct left *l = &j->stacks[g->first + i].left;

		judge(j, &own[i], l, g, &c->alone[i]);
		apart[i] = is_apart(whole, &own[i]);
		if (!apart[i])
			continue;
		left_out(rest, l);
		count++;
	}
	/* They only grow together. */
	if (whole->class == VERDICT_GROWING && (double)left_bytes(rest) < j->least)
		count = 0;
	return count;
}

/* The next verdict of a group is about its next `count` stacks of the list. */
static void add_verdict(struct judging *j, struct group *g, struct verdict *v, uint32_t *next,
			uint32_t count)
{
	const uint32_t *stacks = &j->stack_list[g->first + *next];
	const struct stack_left *first = &j->stacks[g->first];

	while (first->stack != *stacks)
		first++;
	v->stack_list = stacks;
	v->stack = *stacks;
	v->stacks = count;
	v->whole = count == g->count;
	v->call = tags_call(columns_tags(&j->view->model->allocations, first->first_row));
	g->rows = xrealloc(g->rows, (g->row_count + 1) * sizeof(*g->rows));
	g->rows[g->row_count++] = *v;
	*next += count;
}

/* Its stacks that have enough to matter. */
static void mark_alone(struct judging *j, const struct group *g, struct curves *c)
{
	for (uint32_t i = 0; g->count > 1 && i < g->count && i < ALONE_MAX; i++) {
		const struct stack_left *s = &j->stacks[g->first + i];

		if ((double)left_bytes(&s->left) < j->least)
			return;
		c->alone_count = i + 1;
		j->alone[s->stack] = (uint8_t)c->alone_count;
	}
}

static void judge_group(struct judging *j, struct group *g)
{
	auto_free struct curves *c = xcalloc(1, sizeof(*c));
	struct verdict whole, own[ALONE_MAX];
	bool apart[ALONE_MAX] = { false };
	uint32_t next = 0, listed = 0;
	unsigned count = 0;
	struct left rest;

	mark_alone(j, g, c);
	c->without_held = g->is_part;
	c->by_count = !g->left.kept_bytes;
	draw_curves(j, g, c);
	judge(j, &whole, &g->left, g, &c->sum);
	if (c->alone_count)
		count = find_apart(j, g, c, &whole, own, apart, &rest);
	if (!count)
		memset(apart, 0, sizeof(apart));
	for (unsigned part = 0; part < 2; part++)
		for (uint32_t i = 0; i < g->count; i++)
			if ((i < c->alone_count && apart[i]) == !part)
				j->stack_list[g->first + listed++] = j->stacks[g->first + i].stack;
	for (unsigned i = 0; i < c->alone_count; i++)
		if (apart[i])
			add_verdict(j, g, &own[i], &next, 1);
	curves_release(c);
	if (count && count < g->count) {
		*c = (struct curves){ .apart = apart,
				      .without_held = g->is_part,
				      .by_count = !rest.kept_bytes };
		draw_curves(j, g, c);
		judge(j, &whole, &rest, g, &c->sum);
		curves_release(c);
	}
	if (count < g->count)
		add_verdict(j, g, &whole, &next, g->count - count);
}

static void judge_some(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct judging *j = context;

	for (uint64_t i = first; i < first + count; i++) {
		struct group *g = &j->groups[j->groups_of_sets[i]];

		judge_group(j, g);
		if (!g->part)
			continue;
		for (uint32_t k = g->first; k < g->first + g->count; k++)
			j->alone[j->stacks[k].stack] = 0;
		j->groups[g->part - 1].set = g->set;
		judge_group(j, &j->groups[g->part - 1]);
	}
}

static int by_class(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;
	uint64_t kx = x->leaked_bytes > x->kept_bytes ? x->leaked_bytes : x->kept_bytes;
	uint64_t ky = y->leaked_bytes > y->kept_bytes ? y->leaked_bytes : y->kept_bytes;

	if ((x->class == VERDICT_POOL) != (y->class == VERDICT_POOL))
		return y->class == VERDICT_POOL ? -1 : 1;
	if (x->matters != y->matters)
		return x->matters ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (kx != ky)
		return kx < ky ? 1 : -1;
	if (x->leaked_count != y->leaked_count)
		return x->leaked_count < y->leaked_count ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void count_small(struct verdict_rest *rest, uint32_t stacks, const struct left *l)
{
	rest->functions++;
	rest->stacks += stacks;
	rest->bytes += l->leaked_count ? l->leaked_bytes : l->kept_bytes;
	rest->count += l->leaked_count ? l->leaked_count : l->kept_count;
	rest->late_bytes += l->late_bytes;
}

/* Each verdict has its stacks, and its pool, in memory of `v`. */
static void own_lists(struct verdicts *v, bool with_pools)
{
	uint32_t stacks = 0;

	v->pools = with_pools ? known_pools_new() : NULL;
	for (uint32_t i = 0; i < v->count; i++)
		stacks += v->rows[i].stacks;
	v->stack_list = xcalloc((size_t)stacks + 1, sizeof(*v->stack_list));
	stacks = 0;
	for (uint32_t i = 0; i < v->count; i++) {
		struct verdict *row = &v->rows[i];

		memcpy(&v->stack_list[stacks], row->stack_list,
		       row->stacks * sizeof(*v->stack_list));
		row->stack_list = &v->stack_list[stacks];
		stacks += row->stacks;
		if (row->known)
			row->known = known_pools_at(v->pools, row->known->number);
	}
}

/* Puts the verdicts of all groups together, or those of stacks that leaked. */
static void gather(const struct judging *j, struct verdicts *v, bool only_leaked)
{
	size_t room = 0;

	*v = (struct verdicts){ .held_bytes = j->held.kept_bytes,
				.held_count = j->held.kept_count };
	for (uint32_t i = 0; i < j->group_count; i++) {
		const struct group *g = &j->groups[i];

		if (only_leaked ? g->leaking < g->count : g->is_part)
			continue;
		if (!g->set)
			count_small(&v->small, g->count, &g->left);
		for (uint32_t k = 0; k < g->row_count; k++) {
			const struct verdict *row = &g->rows[k];

			if (!row->matters && row->class != VERDICT_POOL) {
				struct left l = { row->leaked_bytes, row->leaked_count,
						  row->kept_bytes, row->kept_count,
						  row->late_bytes };

				count_small(&v->small, row->stacks, &l);
				if (!j->options->all)
					continue;
			}
			*xpush(v->rows, v->count, room) = *row;
		}
	}
	if (v->count)
		qsort(v->rows, v->count, sizeof(*v->rows), by_class);
	own_lists(v, j->pools);
	v->small.grows = v->small.late_bytes &&
			 (double)v->small.late_bytes * 2 >= j->peak * GROWTH_SHARE &&
			 v->small.late_bytes * LATE_TIMES >= v->small.bytes;
	v->end_ns = model_ns(j->view->model, j->work.to);
	v->held_matters = v->held_bytes && (double)v->held_bytes >= j->peak * SHARE;
}

static void judge_all(struct judging *j)
{
	const struct model *m = j->view->model;

	j->peak = (double)m->totals.peak_bytes;
	work_find(&j->work, &j->work_rows, m);
	j->late_rows = columns_from(&m->allocations, j->work.borders[CURVE_PIECES / 2]);
	j->least = least_that_matters(j);
	find_stacks(j);
	find_groups(j);
	j->was_held = xcalloc((size_t)m->tables.nodes.count + 1, 1);
	if (j->both)
		part_groups(j);
	j->alone = xcalloc((size_t)m->tables.nodes.count + 1, 1);
	j->stack_list = xcalloc((size_t)j->stack_count + 1, sizeof(*j->stack_list));
	choose_groups(j);
	parallel_for(j->events.sets, 1, judge_some, j);
}

static void judging_release(struct judging *j)
{
	set_events_release(&j->events);
	for (uint32_t i = 0; i < j->group_count; i++)
		free(j->groups[i].rows);
	known_pools_free(j->pools);
	free(j->place);
	free(j->was_held);
	free(j->stacks);
	free(j->groups);
	free(j->groups_of_sets);
	free(j->alone);
	free(j->stack_list);
	free(j);
}

void verdicts_init(struct verdicts *v, const struct view *view, const struct verdict_options *o)
{
	static const struct verdict_options none;
	struct judging *j = xcalloc(1, sizeof(*j));

	j->view = view;
	j->options = o ? o : &none;
	judge_all(j);
	gather(j, v, false);
	judging_release(j);
}

void verdicts_init_both(struct verdicts *leaked, struct verdicts *held, const struct view *view)
{
	static const struct verdict_options with_held = { .held = true };
	struct judging *j = xcalloc(1, sizeof(*j));

	j->view = view;
	j->options = &with_held;
	j->both = true;
	judge_all(j);
	gather(j, leaked, true);
	gather(j, held, false);
	judging_release(j);
}

void verdicts_release(struct verdicts *v)
{
	free(v->rows);
	free(v->stack_list);
	known_pools_free(v->pools);
	memset(v, 0, sizeof(*v));
}

uint64_t verdict_bytes(const struct verdict *v)
{
	return v->freed_at_exit ? v->kept_bytes : v->leaked_bytes;
}
