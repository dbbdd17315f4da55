/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums by responsible function.  See sentence_figures.h. */
#include "query/sentence_figures.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "model/stats.h"

/* Of a program that allocates less, nobody can say in a sentence that it grows or does not. */
#define JUDGED_ALLOCATIONS 1000
#define HELD_WORK 0.75 /* of the program's work was done when the last of it came, or less */

static struct weight weight_of(const struct stack_sum *s, unsigned weight)
{
	switch (weight) {
	case FIGURE_PEAK:
		return (struct weight){ s->peak_bytes, s->peak_count };
	case FIGURE_LEFT:
		return (struct weight){ s->leaked_bytes, s->leaked_count };
	case FIGURE_TEMPORARY:
		return (struct weight){ s->temporary_bytes, s->temporary };
	default:
		return (struct weight){ s->bytes, s->count };
	}
}

static uint32_t unit_of(const struct responsible *r, uint32_t stack)
{
	struct responsible_frame f;

	return responsible_find(r, stack, &f) ? responsible_unit(r, &f) : 0;
}

/* `place`, by unit: the function's position, plus one. */
static struct function_figures *function_of(struct figures *f, uint32_t *place, uint32_t stack)
{
	uint32_t unit = unit_of(f->responsible, stack);

	if (!place[unit]) {
		f->functions = xgrow(f->functions, f->count, &f->room, sizeof(*f->functions));
		f->functions[f->count] = (struct function_figures){ .unit = unit, .stack = stack };
		place[unit] = ++f->count;
	}
	return &f->functions[place[unit] - 1];
}

static void add_stacks(struct figures *f, uint32_t *place)
{
	const struct model *m = f->view->model;
	struct stack_sums sums;

	if (f->view->bits)
		stats_sum_selected(m, f->view->bits, &sums);
	else
		stats_sum_stacks(m, &sums);
	for (uint32_t i = 0; i < sums.count; i++) {
		const struct stack_sum *s = &sums.rows[i];
		struct function_figures *to = function_of(f, place, s->stack);

		for (unsigned w = 0; w < FIGURE_WEIGHTS; w++) {
			struct weight part = weight_of(s, w);

			weight_add(&to->weights[w], &part);
			weight_add(&f->all[w], &part);
		}
		if (s->bytes > to->most) {
			to->most = s->bytes;
			to->stack = s->stack;
		}
	}
	stack_sums_release(&sums);
}

static enum judgement judgement_of(const struct verdict *v)
{
	switch (v->class) {
	case VERDICT_GROWING:
		return v->matters ? JUDGED_GROWING : JUDGEMENTS;
	case VERDICT_UNCLEAR:
		return v->matters ? JUDGED_UNCLEAR : JUDGEMENTS;
	case VERDICT_BOUNDED:
	case VERDICT_START_UP:
		return JUDGED_SETTLED;
	default:
		return JUDGEMENTS;
	}
}

static void add_verdict(struct function_figures *to, const struct verdict *v)
{
	enum judgement how = judgement_of(v);
	struct judged *j;

	/* What came shortly before the exit was just freed. */
	if (v->freed_at_exit && how == JUDGED_SETTLED && v->grown_work <= HELD_WORK)
		to->held_bytes += verdict_bytes(v);
	to->pool_bytes += v->class == VERDICT_POOL ? verdict_bytes(v) : 0;
	if (how == JUDGEMENTS)
		return;
	j = &to->judged[how];
	if (how == JUDGED_SETTLED) {
		j->since_ns = v->grown_ns > j->since_ns ? v->grown_ns : j->since_ns;
		j->moves |= v->class == VERDICT_BOUNDED && v->reason != REASON_STOPPED;
		j->level |= v->class == VERDICT_BOUNDED && v->reason == REASON_LEVEL;
	} else {
		j->since_ns = j->some && j->since_ns < v->first_ns ? j->since_ns : v->first_ns;
		j->moves |= v->rate_is_late;
	}
	j->freed = (j->freed || !j->some) && v->freed_at_exit;
	j->some = true;
	j->bytes += verdict_bytes(v);
	if (verdict_is_steady(v))
		j->bytes_per_second += v->bytes_per_second;
}

void figures_init(struct figures *f, const struct sentence_sources *from)
{
	const struct model *m = from->view->model;
	const struct totals *t = &m->totals;
	auto_free uint32_t *place = NULL;

	memset(f, 0, sizeof(*f));
	f->from = from;
	f->view = from->view;
	f->responsible = responsible_of_view(f->view);
	place = xcalloc(responsible_units(f->responsible), sizeof(*place));
	f->rows_are_whole = t->allocations == m->recorded.allocations;
	f->is_whole = model_loss(m).kind != LOSS_DAMAGED && !model_counters(m, "dropped_");
	add_stacks(f, place);
	f->judged = from->verdicts && t->allocations >= JUDGED_ALLOCATIONS;
	for (uint32_t i = 0; f->judged && i < from->verdicts->count; i++)
		add_verdict(function_of(f, place, from->verdicts->rows[i].stack),
			    &from->verdicts->rows[i]);
	if (f->view->bits)
		return;
	/* What the whole recording says of itself is more than its single stacks. */
	f->all[FIGURE_ALLOCATED] = (struct weight){ t->allocated_bytes, t->allocations };
	f->all[FIGURE_PEAK] = (struct weight){ t->peak_bytes, t->peak_count };
	f->all[FIGURE_LEFT] = (struct weight){ t->live_bytes, t->live_count };
	f->all[FIGURE_TEMPORARY].count = t->temporary;
}

void figures_release(struct figures *f)
{
	free(f->functions);
}

const struct function_figures *figures_most(const struct figures *f, unsigned weight, bool by_count,
					    uint64_t *ret_functions)
{
	const struct function_figures *most = NULL;

	*ret_functions = 0;
	for (uint32_t i = 0; i < f->count; i++) {
		const struct function_figures *g = &f->functions[i];
		const struct weight *a = &g->weights[weight];
		const struct weight *b = most ? &most->weights[weight] : NULL;

		*ret_functions += a->count != 0;
		if (a->count && (!b || (by_count ? a->count > b->count : a->bytes > b->bytes)))
			most = g;
	}
	return most;
}

/* The view's own filter, and an expression. */
static struct view *narrow(const struct view *v, struct filter *both, const char *expression)
{
	struct err err;

	if ((v->filter && filter_add_all(both, v->filter, &err)) ||
	    filter_parse(both, expression, &err))
		return NULL;
	return view_new(v->model, v->locations, both, &err);
}

static void choose_most(const struct figures *f, const struct view *v, struct figures_chosen *ret)
{
	const struct model *m = v->model;
	auto_free uint32_t *place = xcalloc(responsible_units(f->responsible), sizeof(*place));
	auto_release(figures_release) struct figures sums = { .view = v,
							      .responsible = f->responsible };
	const struct function_figures *most;

	VIEW_EACH(v, 0, m->allocations.count, row)
	if (columns_size(&m->allocations, row) > ret->largest)
		ret->largest = columns_size(&m->allocations, row);
	add_stacks(&sums, place);
	most = figures_most(&sums, FIGURE_ALLOCATED, true, &ret->functions);
	ret->all = sums.all[FIGURE_ALLOCATED];
	if (most) {
		ret->stack = most->stack;
		ret->most = most->weights[FIGURE_ALLOCATED];
	}
}

void figures_choose(const struct figures *f, const char *expression, struct figures_chosen *ret)
{
	struct filter *both = filter_new();
	struct view *v = narrow(f->view, both, expression);

	memset(ret, 0, sizeof(*ret));
	if (v && v->count)
		choose_most(f, v, ret);
	view_free(v);
	filter_free(both);
}

struct slack_sum {
	const struct view *view;
	struct measuring peak;
	_Atomic uint64_t bytes;
};

static void sum_slack_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct slack_sum *s = context;
	const struct columns *c = &s->view->model->allocations;
	uint64_t bytes = 0;

	VIEW_EACH(s->view, first, count, row)
	if (measuring_takes(&s->peak, c, row))
		bytes += columns_slack_of(c, row);
	atomic_fetch_add(&s->bytes, bytes);
}

uint64_t figures_peak_slack(const struct figures *f)
{
	const struct model *m = f->view->model;
	struct slack_sum s = { .view = f->view, .peak = measuring_of(m, MEASURE_PEAK, 0) };

	parallel_for(m->allocations.count, VIEW_BLOCK, sum_slack_block, &s);
	return s.bytes;
}
