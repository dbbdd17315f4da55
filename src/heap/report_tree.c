/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A function between those that call it and those that it calls, each with what passes through.
 *
 * A name that is in a stack twice is counted at its innermost frame, so that no amount counts
 * twice. */
#include <string.h>

#include "base/buf_text.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

struct neighbour {
	uint32_t name;
	struct dump_amounts amounts;
};

struct around {
	struct neighbour *rows;
	size_t count, room;
};

/* A function and who is around it. */
struct knot {
	const struct top_row *row;
	struct around callers, callees;
};

struct writer {
	const struct profile *p;
	const struct heap_report_options *o;
	struct sink *out;
	struct json json;
};

static void add_neighbour(struct around *a, uint32_t name, const struct dump_amounts *amounts)
{
	size_t i = 0;

	while (i < a->count && a->rows[i].name != name)
		i++;
	if (i == a->count) {
		*xpush(a->rows, a->count, a->room) = (struct neighbour){ .name = name };
	}
	dump_amounts_add(&a->rows[i].amounts, amounts, 1);
}

ORDER_WITH(by_amount, struct neighbour, struct heap_report_options,
	   COMPARE(heap_amount(&y->amounts, context->measure),
		   heap_amount(&x->amounts, context->measure))
		   ?: RISING(name))

static void sort_neighbours(struct around *a, const struct heap_report_options *o)
{
	SORT_WITH(a->rows, a->count, by_amount, o);
}

static void tie(struct writer *w, struct knot *k)
{
	const struct profile *p = w->p;

	for (size_t i = 0; i < p->stack_count; i++) {
		const struct profile_stack *s = &p->stacks[i];
		const uint32_t *frames = p->frames + s->frame;

		for (size_t n = 0; n < s->frame_count; n++)
			if (frames[n] == k->row->name) {
				if (n + 1 < s->frame_count)
					add_neighbour(&k->callers, frames[n + 1], &s->amounts);
				if (n)
					add_neighbour(&k->callees, frames[n - 1], &s->amounts);
				break;
			}
	}
	sort_neighbours(&k->callers, w->o);
	sort_neighbours(&k->callees, w->o);
}

static void put_row(struct writer *w, const char *sign, uint32_t name, const struct dump_amounts *a)
{
	const char *text = strings_at(&w->p->names, name);
	struct heap_text h;

	buf_printf(&w->out->buf, "%12s  %s",
		   heap_amount_text(&h, heap_amount(a, w->o->measure), w->o), sign);
	buf_printable(&w->out->buf, text, strlen(text));
	buf_char(&w->out->buf, '\n');
}

static void put_around(struct writer *w, const struct around *a, const char *sign)
{
	for (size_t i = 0; i < a->count; i++)
		put_row(w, sign, a->rows[i].name, &a->rows[i].amounts);
}

static void put_text(struct writer *w, const struct knot *k)
{
	double flat = heap_amount(&k->row->flat, w->o->measure);
	struct heap_text h;

	buf_text(&w->out->buf, "----------------------------------------------------------\n");
	put_around(w, &k->callers, "  called by ");
	put_row(w, "", k->row->name, &k->row->cum);
	if (!heap_is_nothing(flat))
		buf_printf(&w->out->buf, "%12s    of it itself\n",
			   heap_amount_text(&h, flat, w->o));
	put_around(w, &k->callees, "  calls ");
}

static void json_around(struct writer *w, const char *key, const struct around *a)
{
	JSON_ROWS(&w->json, key, i, a->count) {
		json_text(&w->json, "name", strings_at(&w->p->names, a->rows[i].name));
		heap_json_amounts(&w->json, "amounts", &a->rows[i].amounts);
	}
}

static void put_json(struct writer *w, const struct knot *k)
{
	json_object(&w->json, NULL);
	json_text(&w->json, "name", strings_at(&w->p->names, k->row->name));
	heap_json_amounts(&w->json, "flat", &k->row->flat);
	heap_json_amounts(&w->json, "cum", &k->row->cum);
	json_around(w, "callers", &k->callers);
	json_around(w, "callees", &k->callees);
	json_end_object(&w->json);
}

static void csv_line(struct writer *w, const struct knot *k, const char *relation, uint32_t name,
		     const struct dump_amounts *a)
{
	struct buf *out = &w->out->buf;

	csv_cell(out, strings_at(&w->p->names, k->row->name));
	csv_cell(out, relation);
	csv_cell(out, name ? strings_at(&w->p->names, name) : "");
	heap_csv_amounts(out, a);
	csv_end(out);
}

static void put_csv(struct writer *w, const struct knot *k)
{
	for (size_t i = 0; i < k->callers.count; i++)
		csv_line(w, k, "caller", k->callers.rows[i].name, &k->callers.rows[i].amounts);
	csv_line(w, k, "flat", 0, &k->row->flat);
	csv_line(w, k, "cum", 0, &k->row->cum);
	for (size_t i = 0; i < k->callees.count; i++)
		csv_line(w, k, "callee", k->callees.rows[i].name, &k->callees.rows[i].amounts);
}

static void tree_begin(struct writer *w)
{
	struct buf *out = &w->out->buf;

	switch (w->o->form) {
	case HEAP_TEXT:
		heap_put_total(out, w->p, w->o);
		break;
	case HEAP_JSON:
		heap_json_begin(&w->json, out, w->p, w->o, "functions");
		break;
	case HEAP_CSV:
		buf_text(out, "function,relation,name");
		heap_csv_head(out, NULL);
		csv_end(out);
		break;
	}
}

static void put_function(struct writer *w, const struct top_row *row)
{
	static void (*const forms[])(struct writer *, const struct knot *) = {
		[HEAP_TEXT] = put_text, [HEAP_JSON] = put_json, [HEAP_CSV] = put_csv
	};
	struct knot k = { .row = row };

	tie(w, &k);
	forms[w->o->form](w, &k);
	free(k.callers.rows);
	free(k.callees.rows);
}

static int write_tree(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	struct writer w = { p, o, out };
	uint64_t shown = 0;
	auto_release(top_release) struct top t = { 0 };
	int found = 0;

	top_make(&t, p, o->measure, true);
	tree_begin(&w);
	for (size_t i = 0; i < t.count && shown < o->rows && found >= 0 && !sink_turn(out); i++) {
		found = o->about ? pattern_match(o->about, strings_at(&p->names, t.rows[i].name),
						 err)
				 : 1;
		if (found > 0) {
			put_function(&w, &t.rows[i]);
			shown++;
		}
	}
	if (o->form == HEAP_JSON)
		heap_json_end(&w.json);
	return found < 0 ? found : out->error;
}

const struct heap_report heap_report_tree = {
	.name = "tree",
	.help = "each function between its callers and what it calls",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.has_forms = true,
	.write = write_tree,
};
