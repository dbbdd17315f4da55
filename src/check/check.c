/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks.  See check.h. */
#include "check/check.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

/* What a percentage is of, rounded down; never beyond what there is room for. */
static uint64_t part_of(double percent, uint64_t whole)
{
	double part = (double)whole * percent / 100;

	return part < 1e19 ? (uint64_t)part : UINT64_MAX;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t growth_limit(const struct requirement *r, const struct range *before)
{
	uint64_t allowed = r->is_percent ? part_of(r->percent, before->high) : r->amount;

	return sum_of(before->high, MAX(allowed, before->high - before->low));
}

static struct range range_before(struct baseline *before, enum figure_kind kind, const char *key,
				 enum check_measure m, bool *ret_new)
{
	const struct baseline_row *row = before ? baseline_find(before, kind, key) : NULL;

	*ret_new = before && (!row || !row->values[m].high);
	if (row)
		return row->values[m];
	/* Without a row it had less than what makes one. */
	return (struct range){ 0, before ? baseline_threshold(before, m) : 0 };
}

ORDER(by_growth, struct check_stack, FALLING(grown) ?: FALLING(now) ?: strcmp(x->key, y->key))

/* Is the function of a stack among those that are beyond their limit? */
static bool is_blamed(const struct map *blamed, struct baseline *now, const char *key)
{
	const char *between = strstr(key, FIGURE_BETWEEN);
	auto_free char *function = xmemdup0(key, between ? (size_t)(between - key) : strlen(key));
	uint64_t unused;

	return map_get(blamed, strings_add(&now->texts, function), &unused);
}

/* The stacks that grew, or that have most; of some functions only, if `blamed` names them. */
static void list_stacks(struct check_result *ret, enum figure_kind kind, struct baseline *now,
			struct baseline *before, const struct map *blamed)
{
	const struct requirement *r = ret->wanted;
	const struct baseline_table *t = &now->tables[kind];
	enum check_measure m = r->measure;
	size_t room = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct baseline_row *row = &t->rows[i];
		struct check_stack s = { .key = strings_at(&now->texts, row->key) };

		s.now = r->is_growth ? row->values[m].low : row->values[m].high;
		s.before = range_before(r->is_growth ? before : NULL, kind, s.key, m, &s.is_new);
		if (s.now <= s.before.high || (blamed && !is_blamed(blamed, now, s.key)))
			continue;
		s.grown = s.now - s.before.high;
		s.file = strings_at(&now->texts, row->file);
		s.line = row->line;
		*xpush(ret->stacks, ret->stack_count, room) = s;
	}
	SORT(ret->stacks, ret->stack_count, by_growth);
}

static void judge_functions(struct check_result *ret, struct baseline *now, struct baseline *before)
{
	const struct requirement *r = ret->wanted;
	const struct baseline_table *t = &now->tables[BY_RESPONSIBLE];
	auto_release(map_release) struct map blamed = { 0 };

	for (uint32_t i = 0; i < t->count; i++) {
		const struct baseline_row *row = &t->rows[i];
		bool is_new;
		struct range range =
			range_before(before, BY_RESPONSIBLE, strings_at(&now->texts, row->key),
				     r->measure, &is_new);

		if (row->values[r->measure].low <= growth_limit(r, &range))
			continue;
		map_set(&blamed, row->key, 1);
		ret->functions++;
	}
	ret->holds = !ret->functions;
	if (ret->holds)
		return;
	list_stacks(ret, BY_STACK, now, before, &blamed);
	/* Where it came in another way each time, no stack of theirs grew. */
	if (!ret->stack_count)
		list_stacks(ret, BY_RESPONSIBLE, now, before, &blamed);
}

static void judge(struct check_result *ret, struct baseline *now, struct baseline *before)
{
	const struct requirement *r = ret->wanted;
	enum check_measure m = r->measure;

	if (r->is_expected) {
		ret->holds = r->holds;
		if (r->found)
			ret->now = r->found->totals[m];
		if (r->found && !r->holds)
			list_stacks(ret, BY_STACK, r->found, NULL, NULL);
		return;
	}
	ret->now = now->totals[m];
	if (r->is_growth) {
		ret->before = before->totals[m];
		ret->limit = growth_limit(r, &ret->before);
		ret->holds = ret->now.low <= ret->limit;
	} else {
		ret->limit = r->is_percent
				     ? part_of(r->percent, now->totals[CHECK_ALLOCATIONS].high)
				     : r->amount;
		ret->holds = ret->now.high <= ret->limit;
	}
	if (r->per_function)
		judge_functions(ret, now, before);
	else if (!ret->holds)
		list_stacks(ret, BY_STACK, now, before, NULL);
}

void check_init(struct check *c, struct baseline *now, struct baseline *before,
		const struct requirement *wanted, size_t count)
{
	*c = (struct check){ .count = count, .holds = true };
	c->results = xcalloc(count + 1, sizeof(*c->results));
	for (size_t i = 0; i < count; i++) {
		c->results[i].wanted = &wanted[i];
		judge(&c->results[i], now, before);
		c->holds &= c->results[i].holds;
	}
}

void check_release(struct check *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->results[i].stacks);
	free(c->results);
	*c = (struct check){ 0 };
}
