/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lists of who holds how much.  See top_list.h. */
#include "heap/top_list.h"

#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/loaded_dump.h"

static void add_side(struct top_list *l, const struct profile *p, unsigned side)
{
	auto_release(top_release) struct top t = { 0 };

	l->total[side] = p->total;
	top_make(&t, p, l->question.measure, false);
	for (size_t i = 0; i < t.count; i++) {
		/* Number 0 is the empty text, which is no name. */
		uint32_t at = strings_add(&l->names, strings_at(&p->names, t.rows[i].name));

		while (l->count <= at) {
			*xpush(l->rows, l->count, l->room) = (struct top_list_row){ 0 };
		}
		l->rows[at].name = strings_at(&l->names, at);
		l->rows[at].flat[side] = t.rows[i].flat;
		l->rows[at].cum[side] = t.rows[i].cum;
	}
}

/* What orders a row; 0 where its name does. */
static double order_key(const struct top_list_question *q, const struct top_list_row *r)
{
	const struct dump_amounts *a = *q->order == 'c' ? r->cum : r->flat;
	double after = heap_amount(&a[TOP_AFTER], q->measure);
	double before = heap_amount(&a[TOP_BEFORE], q->measure);

	if (!strcmp(q->order, "name"))
		return 0;
	return strstr(q->order, "_before")   ? before
	       : strstr(q->order, "_change") ? fabs(after - before)
					     : after;
}

static int by_order(const void *a, const void *b, void *question)
{
	const struct top_list_question *q = question;
	const struct top_list_row *x = a, *y = b;
	double m = order_key(q, x), n = order_key(q, y);
	int order = m < n ? -1 : m > n;

	if (!strcmp(q->order, "name"))
		order = strcmp(x->name, y->name);
	if (order)
		return q->descending ? -order : order;
	return strcmp(x->name, y->name);
}

void top_list_compute(const struct profile *profiles, unsigned sides,
		      const struct top_list_question *q, struct top_list *ret)
{
	size_t remaining = 0;

	*ret = (struct top_list){ .question = *q, .sides = sides };
	strings_init(&ret->names);
	for (unsigned side = 0; side < sides; side++)
		add_side(ret, &profiles[side], side);
	for (size_t i = 0; i < ret->count; i++)
		if (ret->rows[i].name && (!q->search || strcasestr(ret->rows[i].name, q->search)))
			ret->rows[remaining++] = ret->rows[i];
	ret->count = remaining;
	SORT_WITH(ret->rows, remaining, by_order, &ret->question);
}

static void write_pair(struct json *j, const struct top_list *l, const char *keys[2][2],
		       const struct dump_amounts *a, unsigned side)
{
	loaded_dump_write_amount(j, keys[side][0], heap_bytes(&a[side], l->question.measure));
	loaded_dump_write_amount(j, keys[side][1], heap_objects(&a[side], l->question.measure));
}

void top_list_write_json(struct json *j, const struct top_list *l, uint32_t skip, uint32_t most,
			 struct sink *out)
{
	static const char *total[2][2] = { { "bytes", "objects" },
					   { "bytes_before", "objects_before" } };
	static const char *flat[2][2] = { { "flat_bytes", "flat_objects" },
					  { "flat_bytes_before", "flat_objects_before" } };
	static const char *cum[2][2] = { { "cum_bytes", "cum_objects" },
					 { "cum_bytes_before", "cum_objects_before" } };

	json_object(j, "total");
	for (unsigned side = 0; side < l->sides; side++)
		write_pair(j, l, total, l->total, side);
	json_end_object(j);
	json_number(j, "total_count", l->count);
	JSON_PAGE(j, "rows", i, skip, most, l->count) {
		json_text(j, "name", l->rows[i].name);
		for (unsigned side = 0; side < l->sides; side++) {
			write_pair(j, l, flat, l->rows[i].flat, side);
			write_pair(j, l, cum, l->rows[i].cum, side);
		}
		sink_turn(out);
	}
}

void top_list_release(struct top_list *l)
{
	strings_release(&l->names);
	free(l->rows);
}
