/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conditions to steps.  See plan.h. */
#include "query/plan.h"

#include <errno.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/allocator.h"
#include "query/clock.h"
#include "query/map_ranges.h"
#include "query/origin.h"
#include "query/peaks.h"
#include "query/responsible.h"
#include "query/steps.h"
#include "wire/wide.h"

struct binder {
	const struct view *v;
	const struct model *m;
	struct locations *p;
	struct model_clock clock;
	const struct stack_peak *peaks; /* made when first needed */
	uint32_t nodes;			/* at least 1 */
	struct err *err;
	int error;
};

static struct step *bind(struct binder *b, const struct condition *c);

static struct step *step_new(enum step_kind kind, unsigned cost)
{
	struct step *s = xcalloc(1, sizeof(*s));

	s->kind = kind;
	s->cost = cost;
	return s;
}

static struct step *step_free(struct step *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->child_count; i++)
		step_free(s->children[i]);
	free(s->children);
	free(s->bits);
	map_ranges_free(s->map);
	free(s);
	return NULL;
}

static void step_add(struct step *parent, struct step *child)
{
	*xpush(parent->children, parent->child_count, parent->child_room) = child;
	parent->cost += child->cost;
}

static struct step *set_new(enum step_kind kind, unsigned cost, uint32_t count)
{
	struct step *s = step_new(kind, cost);

	s->bit_count = count;
	s->bits = xcalloc(count / 64 + 1, sizeof(*s->bits));
	return s;
}

static bool is_set(const struct step *s)
{
	return s->kind == STEP_STACKS;
}

static bool none_set(const struct step *s)
{
	for (uint32_t i = 0; i <= s->bit_count / 64; i++)
		if (s->bits[i])
			return false;
	return true;
}

/* What only repeats or contradicts itself is gone here; sets of stacks become one set. */
static void merge_sets(struct step *s)
{
	struct step *first = NULL;
	size_t remaining = 0;

	for (size_t i = 0; i < s->child_count; i++) {
		struct step *child = s->children[i];

		if (!is_set(child) || !first) {
			if (is_set(child))
				first = child;
			s->children[remaining++] = child;
			continue;
		}
		for (uint32_t w = 0; w <= child->bit_count / 64; w++)
			if (s->kind == STEP_AND)
				first->bits[w] &= child->bits[w];
			else
				first->bits[w] |= child->bits[w];
		s->cost -= child->cost;
		step_free(child);
	}
	s->child_count = remaining;
	if (first && none_set(first))
		first->kind = STEP_NOTHING;
}

static void sort_by_cost(struct step *s)
{
	for (size_t i = 1; i < s->child_count; i++) {
		struct step *child = s->children[i];
		size_t k = i;

		for (; k && s->children[k - 1]->cost > child->cost; k--)
			s->children[k] = s->children[k - 1];
		s->children[k] = child;
	}
}

static struct step *only_child(struct step *s)
{
	struct step *child = s->children[0];

	s->child_count = 0;
	step_free(s);
	return child;
}

static struct step *simplify(struct step *s)
{
	enum step_kind nothing = s->kind == STEP_AND ? STEP_NOTHING : STEP_ALL;

	merge_sets(s);
	sort_by_cost(s);
	for (size_t i = 0; i < s->child_count; i++)
		if (s->children[i]->kind == nothing) {
			step_free(s);
			return step_new(nothing, 0);
		}
	return s->child_count == 1 ? only_child(s) : s;
}

static struct step *step_not(struct step *child)
{
	struct step *s;

	if (child->kind == STEP_NOTHING || child->kind == STEP_ALL) {
		child->kind = child->kind == STEP_ALL ? STEP_NOTHING : STEP_ALL;
		return child;
	}
	if (is_set(child)) {
		for (uint32_t w = 0; w <= child->bit_count / 64; w++)
			child->bits[w] = ~child->bits[w];
		return child;
	}
	s = step_new(STEP_NOT, 0);
	step_add(s, child);
	return s;
}

static struct step *bind_list(struct binder *b, const struct condition *c, enum step_kind kind)
{
	struct step *s = step_new(kind, 0);

	for (size_t i = 0; i < c->child_count && !b->error; i++) {
		struct step *child = bind(b, c->children[i]);

		if (child)
			step_add(s, child);
	}
	if (b->error)
		return step_free(s);
	if (!s->child_count) {
		s->kind = kind == STEP_AND ? STEP_ALL : STEP_NOTHING;
		return s;
	}
	return simplify(s);
}

/* A comparison as a range: the value means [from, to). */
struct range {
	bool empty;
	uint64_t low, high;
};

static struct range range_of(enum filter_op op, uint64_t from, uint64_t to)
{
	struct range r = { .low = 0, .high = UINT64_MAX };

	switch (op) {
	case OP_EQ:
		r.empty = from >= to;
		r.low = from;
		r.high = to - 1;
		break;
	case OP_LT:
		r.empty = !from;
		r.high = from - 1;
		break;
	case OP_LE:
		r.empty = !to;
		r.high = to - 1;
		break;
	case OP_GT:
		r.low = to;
		break;
	case OP_GE:
		r.low = from;
		break;
	default: /* the parser turns the others into these */
		r.empty = true;
	}
	return r;
}

/* A value of a moment in ns after the start. */
static bool moment(struct binder *b, const struct value *v, uint64_t *from, uint64_t *to)
{
	uint64_t start = model_start_ns(b->m);

	*from = v->number;
	if (v->kind == VALUE_PERCENT)
		*from = wide_scale(clock_ns(&b->clock, b->clock.end), v->number, 100000000);
	*to = *from + v->width;
	if (v->kind != VALUE_UNIX)
		return true;
	if (!start) {
		b->error = err_set(b->err, -EINVAL,
				   "'%.40s': this recording does not know when it was made; give "
				   "a time after the start (1.5s) or a percentage",
				   v->text);
		return false;
	}
	*to = *to > start ? *to - start : 0;
	*from = *from > start ? *from - start : 0;
	return true;
}

/* The range that a test means, in stamps, ticks or whatever its field counts. */
static bool test_range(struct binder *b, const struct condition *c, struct range *ret)
{
	const struct value *v = &c->value;
	uint64_t from = v->number, to = v->number + v->width;

	switch (c->field->type) {
	case ARG_TIME:
		if (!moment(b, v, &from, &to))
			return false;
		from = clock_stamp(&b->clock, from);
		to = clock_stamp(&b->clock, to);
		break;
	case ARG_DURATION:
	case ARG_DURATION_OR_PERCENT:
		if (!moment(b, v, &from, &to)) /* never a date */
			return false;
		from = clock_ticks(&b->clock, from);
		to = clock_ticks(&b->clock, to);
		break;
	default:
		break;
	}
	*ret = range_of(c->op, from, to);
	return true;
}

static struct step *number_step(int which, struct range r)
{
	static const unsigned costs[] = {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help) [ROW_##id] = cost,
#include "query/fields.def"
#undef NUMBER
	};
	struct step *s = step_new(STEP_NUMBER, costs[which]);

	s->which = which;
	s->low = r.low;
	s->high = r.high;
	if (r.empty || r.low > r.high)
		s->kind = STEP_NOTHING;
	return s;
}

static struct step *bind_row(struct binder *b, const struct condition *c)
{
	struct range r;

	if (!test_range(b, c, &r))
		return NULL;
	/* What was never freed was freed neither before nor after anything. */
	if (c->field->which == ROW_FREED && r.high == NEVER)
		r.high = NEVER - 1;
	return number_step(c->field->which, r);
}

/* allocated <= t < freed */
static struct step *bind_alive(struct binder *b, const struct condition *c)
{
	struct step *s = step_new(STEP_AND, 0);
	uint64_t from, to, next;

	if (!moment(b, &c->value, &from, &to))
		return step_free(s);
	next = clock_stamp(&b->clock, from + 1);
	step_add(s, number_step(ROW_ALLOCATED, (struct range){ .high = next - 1 }));
	step_add(s, number_step(ROW_FREED, (struct range){ .low = next, .high = UINT64_MAX }));
	return s;
}

static uint32_t *depths(const struct nodes *nodes, uint32_t count)
{
	uint32_t *depth = xcalloc(count, sizeof(*depth));

	for (uint32_t i = 1; i < nodes->count; i++)
		if (node_is_known(nodes, i))
			depth[i] = depth[nodes->parent[i]] + 1;
	return depth;
}

static bool share_fits(enum filter_op op, uint64_t part, uint64_t whole, uint64_t percent)
{
	int order = wide_compare(part, 100000000, percent, whole);

	return op == OP_EQ   ? order == 0
	       : op == OP_LT ? order < 0
	       : op == OP_LE ? order <= 0
	       : op == OP_GT ? order > 0
			     : order >= 0;
}

static uint64_t stack_value(struct binder *b, int which, const struct summary_row *row)
{
	const struct summary_sums *s = &row->sums;

	switch ((enum stack_number)which) {
	case STACK_ALLOCATIONS:
		return s->count;
	case STACK_LEAKED:
		return s->leaked_count;
	case STACK_INTERVAL:
		return s->last_at - s->first_at;
	case STACK_SIZE:
		return s->bytes;
	case STACK_LEAKED_SIZE:
		return s->leaked_bytes;
	case STACK_PEAK_SIZE:
		return b->peaks[row->stack].bytes;
	case STACK_PEAK_AT:
		return b->peaks[row->stack].at;
	case STACK_DEPTH:
		break;
	}
	return 0;
}

static struct step *bind_depth(struct binder *b, struct range r)
{
	struct step *s = set_new(STEP_STACKS, 2, b->nodes);
	auto_free uint32_t *depth = depths(&b->m->tables.nodes, b->nodes);

	for (uint32_t i = 0; i < b->nodes; i++)
		if (!r.empty && depth[i] >= r.low && depth[i] <= r.high)
			bit_set(s->bits, i);
	return s;
}

static struct step *bind_stack(struct binder *b, const struct condition *c)
{
	const struct summary *sum = model_summary(b->m);
	int which = c->field->which;
	bool share = c->value.kind == VALUE_PERCENT && which == STACK_LEAKED;
	struct range r;
	struct step *s;

	if (!test_range(b, c, &r))
		return NULL;
	if (which == STACK_DEPTH)
		return bind_depth(b, r);
	if ((which == STACK_PEAK_AT || which == STACK_PEAK_SIZE) && !b->peaks)
		b->peaks = model_peaks(b->m);
	s = set_new(STEP_STACKS, 2, b->nodes);
	for (uint32_t i = 0; i < b->nodes; i++) {
		uint32_t at = summary_row_of(sum, i);
		const struct summary_row *row = at == NO_SUMMARY ? NULL : &sum->rows[at];
		uint64_t value;

		if (!row)
			continue;
		value = stack_value(b, which, row);
		if (share ? share_fits(c->op, value, row->sums.count, c->value.number)
			  : !r.empty && value >= r.low && value <= r.high)
			bit_set(s->bits, i);
	}
	return s;
}

static struct step *bind_backtrace(struct binder *b, const struct condition *c)
{
	const struct nodes *nodes = &b->m->tables.nodes;
	bool freed = c->field->which == SIDE_DEALLOCATION;
	struct step *s = set_new(freed ? STEP_FREE_STACKS : STEP_STACKS, freed ? 6 : 2, b->nodes);

	for (size_t i = 0; i < c->value.id_count; i++) {
		uint64_t id = c->value.ids[i];

		if (id < b->nodes && (!id || node_is_known(nodes, (uint32_t)id)))
			bit_set(s->bits, (uint32_t)id);
	}
	if (bit_get(s->bits, 0)) /* 0 is what has no known stack */
		for (uint32_t i = 0; i < b->nodes; i++)
			if (!node_is_known(nodes, i))
				bit_set(s->bits, i);
	return s;
}

/* By text: a match, or the same. */
static bool name_fits(struct binder *b, const struct condition *c, const char *name)
{
	int matched;

	if (c->op == OP_EQ)
		return !strcmp(name, c->value.text);
	matched = b->error ? 0 : pattern_match(c->pattern, name, b->err);
	if (matched < 0)
		b->error = matched;
	return matched > 0;
}

static struct step *bind_thread(struct binder *b, const struct condition *c)
{
	const struct threads *t = &b->m->tables.threads;
	bool freed = c->field->which == SIDE_DEALLOCATION;
	struct step *s = set_new(freed ? STEP_FREE_THREADS : STEP_THREADS, freed ? 5 : 3,
				 (uint32_t)t->count);
	auto_release(value_release) struct value tid = { 0 };
	bool number = c->op == OP_EQ && !value_parse(&tid, ARG_NUMBER, c->value.text, NULL);

	for (uint32_t i = 0; i < t->count; i++)
		if ((number && t->rows[i].tid == tid.number) || name_fits(b, c, t->rows[i].name))
			bit_set(s->bits, i);
	return b->error ? step_free(s) : s;
}

/* "operator new" is also what "operator new(unsigned long)" is called. */
static bool call_fits(struct binder *b, const struct condition *c, const char *name)
{
	size_t n = strlen(c->value.text);

	return name_fits(b, c, name) ||
	       (c->op == OP_EQ && n && !strncmp(name, c->value.text, n) && name[n] == '(');
}

static struct step *bind_call(struct binder *b, const struct condition *c)
{
	bool freed = c->field->which == SIDE_DEALLOCATION;
	struct step *s = set_new(freed ? STEP_FREE_CALLS : STEP_CALLS, freed ? 5 : 3, CALLS_MAX);

	for (unsigned i = 0; i < CALLS_MAX; i++)
		if (call_fits(b, c, locations_call(b->p, i)))
			bit_set(s->bits, i);
	if (!b->error && c->op == OP_EQ && none_set(s))
		b->error = err_set(b->err, -EINVAL,
				   "there is no call '%.60s'; malloc, calloc, realloc, free …",
				   c->value.text);
	return b->error ? step_free(s) : s;
}

static struct step *tags_step(unsigned mask, unsigned wanted)
{
	struct step *s = step_new(STEP_TAGS, 3);

	s->low = (uint64_t)mask << 58;
	s->high = (uint64_t)wanted << 58;
	return s;
}

static struct step *jemalloc_step(struct binder *b)
{
	struct step *s = set_new(STEP_CALLS, 3, CALLS_MAX), *either;
	unsigned count = 0;

	for (unsigned i = 0; i < CALLS_MAX; i++)
		if (allocator_is_jemalloc(b->m, locations_call(b->p, i))) {
			bit_set(s->bits, i);
			count++;
		}
	if (count == CALLS_MAX)
		s->kind = STEP_ALL;
	if (count == CALLS_MAX || !allocator_inside_is_jemalloc(b->m))
		return s;
	either = step_new(STEP_OR, 0);
	step_add(either, s);
	step_add(either, tags_step(TAG_INSIDE, TAG_INSIDE));
	return simplify(either);
}

/* What glibc's malloc says about its blocks says nothing about another allocator's. */
static struct step *glibc_step(struct binder *b, unsigned mask, unsigned wanted)
{
	struct step *s;

	if (!allocator_is_glibc(b->m))
		return step_new(STEP_NOTHING, 0);
	s = step_new(STEP_AND, 0);
	step_add(s, tags_step(mask, wanted));
	step_add(s, step_not(jemalloc_step(b)));
	return simplify(s);
}

static struct step *bind_group_leaked(struct binder *b)
{
	const struct summary *sum = model_summary(b->m);
	struct step *s = set_new(STEP_STACKS, 2, b->nodes);

	for (uint32_t i = 0; i < b->nodes; i++) {
		uint32_t row = summary_row_of(sum, i);

		if (row != NO_SUMMARY &&
		    sum->rows[row].sums.leaked_count == sum->rows[row].sums.count)
			bit_set(s->bits, i);
	}
	return s;
}

static struct step *bind_flag(struct binder *b, const struct condition *c)
{
	struct step *s;

	switch ((enum flag)c->field->which) {
	case FLAG_GROUP_LEAKED:
		return bind_group_leaked(b);
	case FLAG_TEMPORARY:
		return tags_step(TAG_TEMPORARY, TAG_TEMPORARY);
	case FLAG_REALLOCATED:
		return tags_step(TAG_REALLOCATED, TAG_REALLOCATED);
	case FLAG_ZEROED:
		return tags_step(TAG_ZEROED, TAG_ZEROED);
	case FLAG_MMAPPED:
		return glibc_step(b, TAG_INSIDE, TAG_MMAPPED);
	case FLAG_MAIN_ARENA:
		return glibc_step(b, TAG_NON_MAIN_ARENA, 0);
	case FLAG_OTHER_ARENA:
		return glibc_step(b, TAG_INSIDE, TAG_NON_MAIN_ARENA);
	case FLAG_JEMALLOC:
		return jemalloc_step(b);
	case FLAG_LEAKED:
	case FLAG_CHAIN_LEAKED:
	case FLAG_OTHER_THREAD:
		break;
	}
	s = step_new(STEP_FLAG, c->field->which == FLAG_LEAKED ? 3 : 7);
	s->which = c->field->which;
	return s;
}

static struct step *bind_frame(struct binder *b, const struct condition *c)
{
	struct step *stacks = set_new(STEP_STACKS, 2, b->nodes), *both;
	struct step *calls = set_new(STEP_CALLS, 3, CALLS_MAX);

	b->error = frames_select(b->m, b->p, c, stacks->bits, calls->bits, b->err);
	if (b->error) {
		step_free(calls);
		return step_free(stacks);
	}
	if (none_set(calls)) {
		step_free(calls);
		return stacks;
	}
	both = step_new(STEP_OR, 0);
	step_add(both, stacks);
	step_add(both, calls);
	return both;
}

static struct step *bind_responsible(struct binder *b, const struct condition *c)
{
	struct step *s = set_new(STEP_STACKS, 2, b->nodes);

	b->error = frames_select_responsible(responsible_of_view(b->v), c, s->bits, b->err);
	return b->error ? step_free(s) : s;
}

static struct step *bind_map(struct binder *b, const struct condition *c)
{
	struct step *s = step_new(STEP_MAP, 9);

	s->map = map_ranges_new(b->m, c->value.ids, c->value.id_count);
	return s;
}

/* All of a recording, or nothing of it. */
static struct step *bind_origin(struct binder *b, const struct condition *c)
{
	auto_buf struct buf text = { 0 };
	bool fits;

	buf_text(&text, "");
	origin_text(b->m, (enum origin)c->field->which, &text);
	fits = name_fits(b, c, text.data);
	return b->error ? NULL : step_new(fits ? STEP_ALL : STEP_NOTHING, 0);
}

static struct step *bind_test(struct binder *b, const struct condition *c)
{
	switch (c->field->class) {
	case FIELD_ROW:
		return bind_row(b, c);
	case FIELD_STACK:
		return bind_stack(b, c);
	case FIELD_FLAG:
		return bind_flag(b, c);
	case FIELD_BACKTRACE:
		return bind_backtrace(b, c);
	case FIELD_THREAD:
		return bind_thread(b, c);
	case FIELD_CALL:
		return bind_call(b, c);
	case FIELD_ALIVE:
		return bind_alive(b, c);
	case FIELD_MAP:
		return bind_map(b, c);
	case FIELD_RESPONSIBLE:
		return bind_responsible(b, c);
	case FIELD_ORIGIN:
		return bind_origin(b, c);
	case FIELD_FRAME: /* is inside a CONDITION_FRAME */
		break;
	}
	return step_new(STEP_NOTHING, 0);
}

static struct step *bind(struct binder *b, const struct condition *c)
{
	struct step *s;

	switch (c->kind) {
	case CONDITION_AND:
		return bind_list(b, c, STEP_AND);
	case CONDITION_OR:
		return bind_list(b, c, STEP_OR);
	case CONDITION_NOT:
		s = bind(b, c->children[0]);
		return s ? step_not(s) : NULL;
	case CONDITION_FRAME:
		return bind_frame(b, c);
	case CONDITION_TEST:
		return bind_test(b, c);
	case CONDITION_TRUE:
		break;
	}
	return step_new(STEP_ALL, 0);
}

struct plan *plan_new(const struct view *v, const struct filter *f, struct err *err)
{
	const struct model *m = v->model;
	struct binder b = {
		.v = v, .m = m, .p = v->locations, .clock = model_clock(m), .err = err
	};
	struct step *s;
	struct plan *plan;

	b.nodes = m->tables.nodes.count ? m->tables.nodes.count : 1;
	s = bind(&b, f->all);
	if (!s)
		return NULL;
	plan = xcalloc(1, sizeof(*plan));
	*plan = (struct plan){ .m = m, .clock = b.clock, .step = s };
	return plan;
}

struct plan *plan_free(struct plan *p)
{
	if (!p)
		return NULL;
	step_free(p->step);
	free(p);
	return NULL;
}

void plan_run(const struct plan *p, uint32_t first, uint32_t count, uint64_t bits[PLAN_WORDS])
{
	uint32_t words = (count + 63) / 64;
	uint64_t mask[PLAN_WORDS];

	for (uint32_t w = 0; w < words; w++)
		mask[w] = UINT64_MAX;
	if (count % 64)
		mask[words - 1] = (1ull << count % 64) - 1;
	step_run(p, p->step, first, words, mask, bits);
}
