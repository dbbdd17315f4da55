/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question blame: whose blocks keep how much resident memory. */
#include "answer/blame.h"

#include <errno.h>
#include <string.h>

#include "answer/words.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/group.h"
#include "query/responsible.h"
#include "query/weigh.h"

enum sort { SORT_ALONE, SORT_SHARED, SORT_KEPT, SORT_BYTES, SORT_COUNT, SORTS };
static const char *const sort_keys[SORTS] = { "alone", "shared", "kept", "bytes", "count" };

struct ordering {
	const struct blame *blame;
	enum sort by;
	bool rising;
};

static uint64_t key_of(const struct ordering *o, const struct blame_row *row)
{
	const struct blamed *k = &o->blame->holders[row->holder];

	switch (o->by) {
	case SORT_SHARED:
		return k->shared;
	case SORT_KEPT:
		return k->alone + k->shared;
	case SORT_BYTES:
		return k->live.bytes;
	case SORT_COUNT:
		return k->live.count;
	default:
		return k->alone;
	}
}

ORDER_WITH(by_key, struct blame_row, struct ordering,
	   (context->rising ? 1 : -1) * COMPARE(key_of(context, x), key_of(context, y))
		   ?: RISING(stack))

/* Whose a stack's blocks are: by row of the summary, numbers of rows of the answer from 0 on. */
static uint32_t *group_stacks(struct answer_blame *b)
{
	const struct summary *s = model_summary(b->view->model);
	const struct responsible *r = b->by_stack ? NULL : responsible_of_view(b->view);
	uint32_t *holder_of = xcalloc((size_t)s->count + 1, sizeof(*holder_of));
	auto_free uint32_t *position =
		r ? xcalloc(responsible_units(r) + 1, sizeof(*position)) : NULL;
	size_t room = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		struct responsible_frame f;
		uint32_t unit = 0;

		if (r && responsible_find(r, s->rows[i].stack, &f))
			unit = responsible_unit(r, &f);
		if (!r || !position[unit]) {
			struct blame_row *row = xpush(b->rows, b->row_count, room);

			*row = (struct blame_row){ .holder = b->row_count - 1 };
			if (r) {
				row->function = responsible_unit_function(r, unit);
				row->location = responsible_unit_location(r, unit);
				position[unit] = b->row_count;
			}
		}
		holder_of[i] = r ? position[unit] - 1 : i;
	}
	return holder_of;
}

/* Of each row, the stack that has most alive. */
static void find_stacks(struct answer_blame *b, const uint32_t *holder_of, uint64_t at)
{
	const struct measuring how = { .measure = MEASURE_ALIVE_AT, .at = at };
	const struct summary *s = model_summary(b->view->model);
	auto_free uint64_t *most = xcalloc((size_t)b->row_count + 1, sizeof(*most));
	struct stack_weights alive;

	weigh_stacks(&alive, b->view, &how, false);
	for (uint32_t i = 0; i < alive.count; i++) {
		uint32_t holder = holder_of[summary_row_of(s, alive.rows[i].stack)];
		struct blame_row *row = &b->rows[holder];

		if (!row->stacks++ || alive.rows[i].weight.bytes > most[holder]) {
			row->stack = alive.rows[i].stack;
			most[holder] = alive.rows[i].weight.bytes;
		}
	}
	stack_weights_release(&alive);
}

static void keep_alive(struct answer_blame *b)
{
	uint32_t remaining = 0;

	for (uint32_t i = 0; i < b->row_count; i++)
		if (b->blame.holders[b->rows[i].holder].live.count)
			b->rows[remaining++] = b->rows[i];
	b->row_count = remaining;
}

static enum blame_unit unit_of(const struct ask *a, const struct model *m)
{
	const char *word = ask_text(a, "by");

	if (!word)
		return blame_usual_unit(m);
	switch (*word) {
	case '6':
		return BLAME_64K;
	case '2':
		return BLAME_2M;
	case 's':
		return BLAME_SLAB;
	default:
		return BLAME_PAGE;
	}
}

static int blame_compute(struct ask *a, void *answer)
{
	const struct model *m = a->snapshot->model;
	struct answer_blame *ret = answer;
	struct blame_options o = { .at = blame_moment(m), .unit = unit_of(a, m) };
	struct ordering order = { &ret->blame, ask_choice(a, "sort_by", sort_keys, SORTS),
				  ask_text(a, "order") && !ask_descending(a) };
	auto_free uint32_t *holder_of = NULL;

	if (o.unit == BLAME_SLAB && !blame_has_slabs(m))
		return ask_fail(a, 400, "by",
				"slabs are jemalloc's, and the program had another "
				"allocator: page, 64k or 2m");
	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	ret->at_ns = model_ns(m, o.at);
	if (ask_time(a, "at", m, &ret->at_ns))
		o.at = measure_stamp(m, ret->at_ns);
	ret->by_stack = !strcmp(ask_text(a, "group"), "stack");
	ret->skip = ask_count(a, "skip");
	ret->most = ask_count(a, "count");
	holder_of = group_stacks(ret);
	o.holder_of = holder_of;
	o.holders = ret->row_count;
	blame_init(&ret->blame, ret->view, &o);
	find_stacks(ret, holder_of, o.at);
	keep_alive(ret);
	SORT_WITH(ret->rows, ret->row_count, by_key, &order);
	return 0;
}

void blame_label(const struct answer_blame *b, const struct blame_row *row, struct buf *out)
{
	const struct groups g = { .view = b->view, .key = group_key_find("responsible") };

	groups_label(&g, &(struct group){ .id = row->function, .line = row->location }, out);
}

static void write_blamed(struct json *j, const struct blamed *k)
{
	JSON_MEMBERS(j, &k->live, bytes, count);
	json_number(j, "usable_bytes", k->usable);
	json_number(j, "alone_bytes", k->alone);
	json_number(j, "alone_units", k->alone_units);
	json_number(j, "shared_bytes", k->shared);
	json_number(j, "shared_units", k->shared_units);
}

static void write_row(struct answer *names, struct json *j, const struct answer_blame *b,
		      const struct blame_row *row)
{
	auto_buf struct buf name = { 0 }, filter = { 0 };

	if (!b->by_stack) {
		blame_label(b, row, &name);
		json_text(j, "name", name.data);
		json_number(j, "stack_count", row->stacks);
	}
	if (b->by_stack)
		buf_printf(&filter, "backtrace = %u", row->stack);
	else if (row->function)
		words_responsible(&filter, locations_string(b->view->locations, row->function));
	if (filter.size)
		json_text(j, "filter", filter.data);
	write_blamed(j, &b->blame.holders[row->holder]);
	json_number(j, "backtrace_id", row->stack);
	answer_backtrace(names, j, "backtrace", row->stack, words_call(b->view->model, row->stack));
}

static void blame_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_blame *shown = answer;
	const struct blame *b = &shown->blame;
	const struct model *m = a->snapshot->model;
	auto_release(snapshot_answer_release) struct answer names = { 0 };

	snapshot_answer(a->snapshot, &names, shown->view);
	json_number(j, "at_ns", shown->at_ns);
	json_number_if(j, "sampled_ns", b->sampled_at != NEVER,
		       b->sampled_at != NEVER ? model_ns(m, b->sampled_at) : 0);
	json_text(j, "by", blame_units[b->unit].name);
	json_number_if(j, "unit_bytes", b->unit != BLAME_SLAB, 1ull << blame_units[b->unit].shift);
	json_text(j, "group", shown->by_stack ? "stack" : "responsible");
	json_number(j, "resident_bytes", b->resident);
	json_number(j, "units", b->units);
	write_blamed(j, &b->total);
	json_object(j, "outside");
	write_blamed(j, &b->outside);
	json_end_object(j);
	json_number(j, "holder_total", shown->row_count);
	JSON_PAGE(j, "holders", i, shown->skip, shown->most, shown->row_count) {
		write_row(&names, j, shown, &shown->rows[i]);
		sink_turn(out);
	}
}

static void blame_drop(void *answer)
{
	struct answer_blame *a = answer;

	blame_release(&a->blame);
	free(a->rows);
}

static const struct param_row params[] = {
	{ "at", PARAM_TIME, NULL,
	  "the moment; the last sample of the memory maps if it is not given" },
	{ "by", PARAM_CHOICE, NULL,
	  "what is kept as a whole; slabs where the allocator is jemalloc",
	  .values = "page|64k|2m|slab" },
	{ "group", PARAM_CHOICE, "responsible", "whose blocks are taken together",
	  .values = "responsible|stack" },
	{ "skip", PARAM_COUNT, "0", "holders that are left out" },
	{ "count", PARAM_COUNT, "20", "holders at most", .option = "top", .letter = 'n' },
	{ "sort_by", PARAM_CHOICE, "alone",
	  "resident bytes that only they keep, their part of what others keep too, both, bytes or "
	  "blocks alive",
	  .values = "alone|shared|kept|bytes|count", .option = "sort", .letter = 's' },
	PARAM_ORDER(NULL),
	{ 0 },
};

const struct question question_blame = {
	.name = "blame",
	.help = "whose blocks keep how much resident memory",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_blame),
	.compute = blame_compute,
	.write_members = blame_json,
	.release = blame_drop,
};
