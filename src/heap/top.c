/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Flat and cumulative amounts.  See top.h. */
#include "heap/top.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

struct order {
	const struct profile *profile;
	enum heap_measure measure;
	bool by_cum;
};

static int by_amount(const void *a, const void *b, void *context)
{
	const struct order *o = context;
	const struct top_row *x = a, *y = b;
	double vx = heap_amount(o->by_cum ? &x->cum : &x->flat, o->measure);
	double vy = heap_amount(o->by_cum ? &y->cum : &y->flat, o->measure);

	if (vx != vy)
		return vx < vy ? 1 : -1;
	return strcmp(strings_at(&o->profile->names, x->name),
		      strings_at(&o->profile->names, y->name));
}

void top_make(struct top *t, const struct profile *p, enum heap_measure m, bool by_cum)
{
	size_t names = strings_count(&p->names);
	/* For each name: the last stack that it was counted for, plus one. */
	auto_free size_t *seen = xcalloc(names + 1, sizeof(*seen));
	struct order order = { p, m, by_cum };

	*t = (struct top){ .rows = xcalloc(names + 1, sizeof(*t->rows)) };
	for (size_t i = 0; i < names; i++)
		t->rows[i].name = (uint32_t)i;
	for (size_t i = 0; i < p->stack_count; i++) {
		const struct profile_stack *s = &p->stacks[i];

		for (size_t k = 0; k < s->frame_count; k++) {
			uint32_t name = p->frames[s->frame + k];

			if (!k)
				dump_amounts_add(&t->rows[name].flat, &s->amounts, 1);
			if (seen[name] == i + 1)
				continue;
			seen[name] = i + 1;
			dump_amounts_add(&t->rows[name].cum, &s->amounts, 1);
		}
	}
	for (size_t i = 0; i < names; i++)
		if (seen[i])
			t->rows[t->count++] = t->rows[i];
	SORT_WITH(t->rows, t->count, by_amount, &order);
}

void top_release(struct top *t)
{
	free(t->rows);
	*t = (struct top){ 0 };
}
