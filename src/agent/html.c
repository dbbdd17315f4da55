/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /debug/pprof/heap/html, /debug/pprof/allocs/html: one page with the flame graph and the functions
 * that hold the most, for a browser on the machine.  See pictures.h.
 *
 * On the agent's thread; all memory is mapped.  The page fetches nothing and runs nothing. */
#include <string.h>

#include "agent/pictures.h"

#define ROWS_MAX 500 /* what is behind them is said, not shown */

struct row {
	uint32_t function, location;
	uint64_t self, total;
	size_t last; /* the stack that it was counted for, + 1: a function that calls itself counts
			once */
};

struct table {
	struct text rows;  /* struct row */
	struct text slots; /* uint32_t: row + 1, by function; 0: free */
	size_t slot_count;
	uint32_t count;
};

static struct row *row_at(const struct table *t, size_t i)
{
	return (struct row *)t->rows.data + i;
}

static struct row *row_of(struct table *t, uint32_t function, uint32_t location)
{
	uint32_t *slots = (uint32_t *)t->slots.data;
	size_t at = (size_t)(function * 0x9e3779b97f4a7c15ull >> 20);
	struct row made = { .function = function, .location = location };

	for (; slots[at & (t->slot_count - 1)]; at++) {
		struct row *r = row_at(t, slots[at & (t->slot_count - 1)] - 1);

		if (r->function == function)
			return r;
	}
	text_add(&t->rows, &made, sizeof(made));
	if (t->rows.failed)
		return NULL;
	slots[at & (t->slot_count - 1)] = ++t->count;
	return row_at(t, t->count - 1);
}

static bool table_init(struct table *t, const struct locations *locations)
{
	memset(t, 0, sizeof(*t));
	for (t->slot_count = 16; t->slot_count < 2 * (locations->count + 1);)
		t->slot_count *= 2;
	if (locations->failed || !text_reserve(&t->slots, t->slot_count * sizeof(uint32_t)))
		return false;
	/* Another text may have been there. */
	memset(t->slots.data, 0, t->slot_count * sizeof(uint32_t));
	return true;
}

static void add_stack(struct table *t, const struct locations *locations, const struct profile *p,
		      size_t number, uint64_t weight)
{
	const struct profile_sample *s = (const struct profile_sample *)p->samples.data + number;
	const uint64_t *pcs = (const uint64_t *)p->pcs.data + s->pc;
	size_t first = folded_first(locations, p, s);

	for (size_t k = first; k < s->pc_count; k++) {
		size_t location = locations_find(locations, pcs[k]);
		struct row *r =
			row_of(t, locations_function(locations, location), (uint32_t)location);

		if (!r)
			return;
		if (k == first)
			r->self += weight;
		if (r->last != number + 1)
			r->total += weight;
		r->last = number + 1;
	}
}

static void put_amount(struct text *out, uint64_t bytes, uint64_t whole)
{
	unsigned share = whole ? (unsigned)((double)bytes / (double)whole * 1000 + 0.5) : 0;

	text_str(out, "<td>");
	picture_size(out, bytes);
	text_printf(out, "<td>%u.%u %%", share / 10, share % 10);
}

/* The heaviest first. */
static void put_rows(struct text *out, const struct table *t, const struct locations *locations,
		     uint64_t whole)
{
	struct text order = { 0 };
	struct object_name *sorted;
	char small[160];

	for (uint32_t i = 0; i < t->count; i++) {
		struct object_name entry = { .address = UINT64_MAX - row_at(t, i)->total,
					     .name = i };

		text_add(&order, &entry, sizeof(entry));
	}
	if (order.failed) {
		out->failed = true;
		text_release(&order);
		return;
	}
	sorted = (struct object_name *)order.data;
	if (t->count)
		objects_sort(sorted, t->count);
	for (uint32_t i = 0; i < t->count && i < ROWS_MAX; i++) {
		const struct row *r = row_at(t, sorted[i].name);

		text_str(out, "<tr><td>");
		picture_text(out, locations_name(locations, r->location, small, sizeof(small)),
			     300);
		put_amount(out, r->total, whole);
		put_amount(out, r->self, whole);
		text_char(out, '\n');
	}
	text_release(&order);
}

static void put_table(struct exchange *x, const struct profile *p, bool allocs)
{
	const struct profile_sample *samples = (const struct profile_sample *)p->samples.data;
	struct text *out = &x->out;
	struct locations locations;
	struct table t;
	uint64_t whole = 0;

	locations_init(&locations, p);
	if (!table_init(&t, &locations))
		out->failed = true;
	for (size_t i = 0; i < p->sample_count && !out->failed && !t.rows.failed; i++) {
		uint64_t weight = folded_weight(p, &samples[i], allocs);

		whole += weight;
		if (weight)
			add_stack(&t, &locations, p, i, weight);
	}
	if (t.rows.failed)
		out->failed = true;
	if (!out->failed) {
		text_printf(out, "<p>%u functions", t.count);
		if (t.count > ROWS_MAX)
			text_printf(out, ", the heaviest %d", ROWS_MAX);
		text_str(out, ".\n");
		text_str(out, "<table><tr><th>function<th colspan=2>with what it called"
			      "<th colspan=2>itself\n");
		put_rows(out, &t, &locations, whole);
		text_str(out, "</table>\n");
	}
	text_release(&t.rows);
	text_release(&t.slots);
	locations_release(&locations);
}

void html_answer(struct exchange *x, const struct profile *p, bool allocs)
{
	struct text *out = &x->out;

	x->type = "text/html; charset=utf-8";
	x->header = PICTURE_POLICY;
	text_str(out, "<!doctype html>\n<html lang=en><meta charset=utf-8><title>");
	picture_heading(x, p, allocs);
	text_str(out,
		 "</title>\n<style>\n"
		 ":root{color-scheme:light dark}\n"
		 "body{font:14px sans-serif;margin:16px auto;max-width:1200px;padding:0 16px}\n"
		 "svg{max-width:100%;height:auto}\n"
		 "table{border-collapse:collapse;width:100%}\n"
		 "th{text-align:right;font-weight:600}th:first-child{text-align:left}\n"
		 "th,td{padding:3px 12px 3px 0;border-bottom:1px solid #8884}\n"
		 "td{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
		 "td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;"
		 "font-family:monospace}\n"
		 "</style>\n");
	flame_draw(x, p, allocs);
	put_table(x, p, allocs);
}
