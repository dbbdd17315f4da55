/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A function between those that call it and those that it calls, each with what passes through.
 *
 * A name that is in a stack twice is counted at its innermost place, so that no amount counts
 * twice. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "heap/report.h"

struct neighbour {
	uint32_t name;
	double amount;
};

struct around {
	struct neighbour *rows;
	size_t count, room;
};

static void add(struct around *a, uint32_t name, double amount)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->rows[i].name == name) {
			a->rows[i].amount += amount;
			return;
		}
	a->rows = xgrow(a->rows, a->count, &a->room, sizeof(*a->rows));
	a->rows[a->count++] = (struct neighbour){ name, amount };
}

static int by_amount(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->amount != y->amount)
		return x->amount < y->amount ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void put_row(struct sink *out, const struct profile *p, const struct heap_report_options *o,
		    const char *sign, uint32_t name, double amount)
{
	const char *text = strings_at(&p->names, name);
	struct heap_text h;

	buf_printf(&out->buf, "%12s  %s", heap_amount_text(&h, amount, o), sign);
	buf_printable(&out->buf, text, strlen(text));
	buf_char(&out->buf, '\n');
}

static void put_around(struct sink *out, const struct profile *p,
		       const struct heap_report_options *o, struct around *a, const char *sign)
{
	if (a->count > 1)
		qsort(a->rows, a->count, sizeof(*a->rows), by_amount);
	for (size_t i = 0; i < a->count; i++)
		put_row(out, p, o, sign, a->rows[i].name, a->rows[i].amount);
	free(a->rows);
}

static void put_function(const struct profile *p, const struct heap_report_options *o,
			 struct sink *out, const struct top_row *row)
{
	struct around callers = { 0 }, callees = { 0 };

	for (size_t i = 0; i < p->stack_count; i++) {
		const struct profile_stack *s = &p->stacks[i];
		const uint32_t *frames = p->frames + s->frame;
		double amount = heap_amount(&s->amounts, o->measure);

		for (size_t k = 0; k < s->frame_count; k++)
			if (frames[k] == row->name) {
				if (k + 1 < s->frame_count)
					add(&callers, frames[k + 1], amount);
				if (k)
					add(&callees, frames[k - 1], amount);
				break;
			}
	}
	buf_text(&out->buf, "----------------------------------------------------------\n");
	put_around(out, p, o, &callers, "  called by ");
	put_row(out, p, o, "", row->name, heap_amount(&row->cum, o->measure));
	if (heap_amount(&row->flat, o->measure)) {
		struct heap_text h;

		buf_printf(&out->buf, "%12s    of it itself\n",
			   heap_amount_text(&h, heap_amount(&row->flat, o->measure), o));
	}
	put_around(out, p, o, &callees, "  calls ");
}

static int write_tree(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	struct heap_text h;
	uint64_t shown = 0;
	struct top t;
	int found = 0;

	top_make(&t, p, o->measure, true);
	buf_printf(&out->buf, "Total: %s %s\n",
		   heap_amount_text(&h, heap_amount(&p->total, o->measure), o), heap_unit(o));
	for (size_t i = 0; i < t.count && shown < o->rows && found >= 0 && !sink_turn(out); i++) {
		found = o->about ? pattern_match(o->about, strings_at(&p->names, t.rows[i].name),
						 err)
				 : 1;
		if (found > 0) {
			put_function(p, o, out, &t.rows[i]);
			shown++;
		}
	}
	top_release(&t);
	return found < 0 ? found : out->error;
}

const struct heap_report heap_report_tree = {
	.name = "tree",
	.help = "each function between its callers and what it calls",
	.mime = "text/plain; charset=utf-8",
	.write = write_tree,
};
