/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/functions: what each function, line or module weighs wherever it stands. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "query/tree.h"
#include "server/request.h"
#include "server/tree_json.h"

enum order { BY_TOTAL, BY_SELF, BY_TOTAL_COUNT, BY_SELF_COUNT, BY_NAME };
static const char order_words[] = "total|self|total_count|self_count|name";

struct listing {
	const struct tree *t;
	struct function_total *rows;
	char **names; /* by row; NULL: not asked for yet */
	uint32_t count;
	enum order order;
	bool descending;
};

static uint64_t number_of(const struct function_total *f, enum order order)
{
	switch (order) {
	case BY_SELF:
		return f->self.bytes;
	case BY_TOTAL_COUNT:
		return f->total.count;
	case BY_SELF_COUNT:
		return f->self.count;
	case BY_TOTAL:
	case BY_NAME:
		break;
	}
	return f->total.bytes;
}

/* Equal ones stay in the order that they came in: the heaviest first. */
static int compare(const void *a, const void *b, void *listing)
{
	const struct listing *l = listing;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order;

	if (l->order == BY_NAME) {
		order = strcmp(l->names[x], l->names[y]);
	} else {
		uint64_t m = number_of(&l->rows[x], l->order), n = number_of(&l->rows[y], l->order);

		order = m < n ? -1 : m > n;
	}
	if (order)
		return l->descending ? -order : order;
	return x < y ? -1 : x > y;
}

static void find_names(struct listing *l)
{
	struct buf text = { 0 };

	l->names = xcalloc((size_t)l->count + 1, sizeof(*l->names));
	for (uint32_t i = 0; i < l->count; i++) {
		buf_clear(&text);
		tree_name_text(l->t, l->rows[i].name, &text);
		l->names[i] = xstrdup(text.data);
	}
	buf_release(&text);
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
		qsort_r(order, n, sizeof(*order), compare, l);
	*ret_count = n;
	return order;
}

static void release(struct listing *l)
{
	for (uint32_t i = 0; l->names && i < l->count; i++)
		free(l->names[i]);
	free(l->names);
	free(l->rows);
}

static void write_rows(struct request *r, struct json *j, struct listing *l, struct sink *out)
{
	uint32_t count, skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count");
	uint32_t *order = select_rows(l, ask_text(&r->ask, "search"), &count);

	json_number(j, "total_count", count);
	json_array(j, "functions");
	for (uint32_t i = skip; i < count && i - skip < most; i++) {
		const struct function_total *f = &l->rows[order[i]];

		json_object(j, NULL);
		tree_json_name(j, l->t, f->name);
		json_number(j, "bytes", f->total.bytes);
		json_number(j, "count", f->total.count);
		json_number(j, "self_bytes", f->self.bytes);
		json_number(j, "self_count", f->self.count);
		json_number(j, "places", f->node_count);
		json_end_object(j);
		sink_turn(out);
	}
	json_end_array(j);
	free(order);
}

static enum order order_of(const char *word)
{
	static const char *const words[] = { "total", "self", "total_count", "self_count", "name" };
	unsigned i = 0;

	while (i < BY_NAME && strcmp(word, words[i]) != 0)
		i++;
	return (enum order)i;
}

static int answer(struct request *r, struct sink *out)
{
	struct tree_options o = { 0 };
	struct listing l = { .order = order_of(ask_text(&r->ask, "sort_by")),
			     .descending = ask_descending(&r->ask) };
	const struct view *v;
	struct tree t;
	struct json j;

	for (unsigned i = 0; i < TREE_KEYS; i++)
		if (!strcmp(ask_text(&r->ask, "by"), tree_keys[i]))
			o.key = (enum tree_key)i;
	if (ask_measuring(&r->ask, r->ask.snapshot->model, &o.measuring) ||
	    !(v = ask_view(&r->ask)))
		return -1;
	tree_init(&t, v, &o);
	l.t = &t;
	l.rows = tree_functions(&t, &l.count);
	request_json(&j, out);
	json_object(&j, NULL);
	ask_measuring_json(&j, r->ask.snapshot->model, &o.measuring);
	json_object(&j, "total");
	json_number(&j, "bytes", t.nodes[0].total.bytes);
	json_number(&j, "count", t.nodes[0].total.count);
	json_end_object(&j);
	write_rows(r, &j, &l, out);
	json_end_object(&j);
	release(&l);
	tree_release(&t);
	return 0;
}

static const struct param_row params[] = {
	PARAMS_MEASURE("peak"),
	{ "by", PARAM_CHOICE, "function", "what is listed", .values = "function|line|module" },
	{ "sort_by", PARAM_CHOICE, "total", "what orders", .values = order_words },
	PARAM_ORDER("dsc"),
	{ "search", PARAM_TEXT, NULL, "only names that contain it, in any case" },
	PARAMS_PAGE("200"),
	{ 0 },
};

const struct route routes_functions[] = {
	{ "/data/{id}/functions", METHOD_GET, "what each function, line or module weighs",
	  .params = params, .filters = true, .answer = answer },
	{ 0 },
};
