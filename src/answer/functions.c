/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question functions: what each function, line or module weighs wherever it stands. */
#include "answer/functions.h"

#include <errno.h>
#include <string.h>

#include "answer/tree.h"
#include "base/buf_type.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/responsible.h"

enum order {
	BY_OWN,
	BY_TOTAL,
	BY_SELF,
	BY_OWN_COUNT,
	BY_TOTAL_COUNT,
	BY_SELF_COUNT,
	BY_NAME,
	ORDERS
};
static const char *const orders[ORDERS] = { "own",	   "total",	 "self", "own_count",
					    "total_count", "self_count", "name" };

struct listing {
	const struct tree *t;
	struct function_total *rows;
	char **names; /* by row; NULL: not asked for yet */
	uint32_t count;
	enum order order;
	bool descending;
};

static uint64_t function_number(const struct function_total *f, enum order order)
{
	switch (order) {
	case BY_OWN:
		return f->own.bytes;
	case BY_SELF:
		return f->self.bytes;
	case BY_OWN_COUNT:
		return f->own.count;
	case BY_TOTAL_COUNT:
		return f->total.count;
	case BY_SELF_COUNT:
		return f->self.count;
	case BY_TOTAL:
	case BY_NAME:
	case ORDERS:
		break;
	}
	return f->total.bytes;
}

/* Equal ones stay in the order that they came in: the heaviest first. */
static int compare_functions(const void *a, const void *b, void *listing)
{
	const struct listing *l = listing;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order;

	if (l->order == BY_NAME) {
		order = strcmp(l->names[x], l->names[y]);
	} else {
		uint64_t m = function_number(&l->rows[x], l->order),
			 n = function_number(&l->rows[y], l->order);

		order = m < n ? -1 : m > n;
	}
	if (order)
		return l->descending ? -order : order;
	return x < y ? -1 : x > y;
}

static void find_names(struct listing *l)
{
	auto_buf struct buf text = { 0 };

	l->names = xcalloc((size_t)l->count + 1, sizeof(*l->names));
	for (uint32_t i = 0; i < l->count; i++) {
		buf_clear(&text);
		tree_name_text(l->t, l->rows[i].name, &text);
		l->names[i] = xstrdup(text.data);
	}
}

/* Positions of the rows that are wanted, in order. */
static uint32_t *select_rows(struct listing *l, const char *search, uint32_t *ret_count)
{
	uint32_t *order = xmalloc(((size_t)l->count + 1) * sizeof(*order)), n = 0;

	if (search || l->order == BY_NAME)
		find_names(l);
	for (uint32_t i = 0; i < l->count; i++)
		if (!search || strcasestr(l->names[i], search))
			order[n++] = i;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), compare_functions, l);
	*ret_count = n;
	return order;
}

static void release_names(struct listing *l)
{
	for (uint32_t i = 0; l->names && i < l->count; i++)
		free(l->names[i]);
	free(l->names);
}

static int functions_compute(struct ask *a, void *answer)
{
	struct answer_functions *ret = answer;
	struct tree_options o = { .key = ask_choice(a, "by", tree_keys, TREE_KEYS) };
	struct listing l = { .t = &ret->tree,
			     .order = ask_choice(a, "sort_by", orders, ORDERS),
			     .descending = ask_descending(a) };
	const struct view *v;

	if (ask_measuring(a, a->snapshot->model, &o.measuring) || !(v = ask_view(a)))
		return -EINVAL;
	o.responsible = responsible_of_view(v);
	tree_init(&ret->tree, v, &o);
	ret->rows = l.rows = tree_functions(&ret->tree, &l.count);
	ret->order = select_rows(&l, ask_text(a, "search"), &ret->count);
	release_names(&l);
	ret->skip = ask_count(a, "skip");
	ret->skip = ret->skip < ret->count ? ret->skip : ret->count;
	ret->shown = ask_count(a, "count");
	ret->shown = ret->shown < ret->count - ret->skip ? ret->shown : ret->count - ret->skip;
	return 0;
}

static void functions_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_functions *f = answer;

	ask_measuring_json(j, a->snapshot->model, &f->tree.options.measuring);
	json_object(j, "total");
	JSON_MEMBERS(j, &f->tree.nodes[0].total, bytes, count);
	json_end_object(j);
	json_number(j, "total_count", f->count);
	JSON_ROWS(j, "functions", i, f->shown) {
		const struct function_total *row = &f->rows[f->order[f->skip + i]];

		tree_json_name(j, &f->tree, row->name);
		JSON_MEMBERS(j, &row->total, bytes, count);
		json_text(j, "kind", frame_kind_names[f->tree.names[row->name].whose]);
		json_number(j, "own_bytes", row->own.bytes);
		json_number(j, "own_count", row->own.count);
		json_number(j, "self_bytes", row->self.bytes);
		json_number(j, "self_count", row->self.count);
		json_number(j, "places", row->node_count);
		sink_turn(out);
	}
}

static void functions_drop(void *answer)
{
	struct answer_functions *f = answer;

	free(f->order);
	free(f->rows);
	tree_release(&f->tree);
}

static const struct param_row params[] = {
	PARAMS_MEASURE("peak"),
	{ "by", PARAM_CHOICE, "function", "what is listed", .values = "function|line|module",
	  .letter = 'b' },
	{ "sort_by", PARAM_CHOICE, "own",
	  "what orders; own: of stacks whose responsible function it is",
	  .values = "own|total|self|own_count|total_count|self_count|name", .option = "sort",
	  .letter = 's' },
	PARAM_ORDER("dsc"),
	{ "search", PARAM_TEXT, NULL, "only names that contain it, in any case" },
	PARAMS_PAGE("200"),
	{ 0 },
};

const struct question question_functions = {
	.name = "functions",
	.help = "what each function, line or module weighs",
	.params = params,
	.filters = true,
	.fleets = true,
	.prefetch = (const struct prefetch[]){ { 8, "measure=peak&sort_by=own&count=100" }, { 0 } },
	.size = sizeof(struct answer_functions),
	.compute = functions_compute,
	.write_members = functions_json,
	.release = functions_drop,
};
