/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Differences.  See diff.h. */
#include "query/diff.h"

#include <string.h>

#include "base/buf_type.h"
#include "base/map.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "query/responsible.h"

const char *const diff_statuses[DIFF_STATUSES] = { "new", "gone", "grown", "shrunk", "same" };

struct merging {
	struct diff *d;
	struct map children; /* by parent and name */
	size_t room;
	struct diff_pair *own; /* by name */
	size_t own_count;      /* room of d->whose, too */
};

static uint32_t child_of(struct merging *m, uint32_t parent, uint32_t name)
{
	uint64_t key = (uint64_t)parent << 32 | name, id;
	struct diff *d = m->d;

	if (map_get(&m->children, key, &id))
		return (uint32_t)id;
	map_set(&m->children, key, d->node_count);
	*xpush(d->nodes, d->node_count, m->room) =
		(struct diff_node){ .parent = parent, .name = name };
	return d->node_count - 1;
}

static void diff_add_weight(struct weight *to, const struct weight *w)
{
	to->bytes += w->bytes;
	to->count += w->count;
}

static void add_pair(struct diff_pair *to, const struct diff_pair *p)
{
	diff_add_weight(&to->before, &p->before);
	diff_add_weight(&to->after, &p->after);
}

static void add_own(struct merging *m, const struct tree *t, uint32_t i, uint32_t name, bool after)
{
	size_t count = strings_count(&m->d->names);

	if (m->own_count < count) {
		m->own = xreallocarray(m->own, count, sizeof(*m->own));
		memset(m->own + m->own_count, 0, (count - m->own_count) * sizeof(*m->own));
		m->d->whose = xreallocarray(m->d->whose, count, sizeof(*m->d->whose));
		memset(m->d->whose + m->own_count, 0, count - m->own_count);
		m->own_count = count;
	}
	if (t->names[i].whose > m->d->whose[name])
		m->d->whose[name] = (uint8_t)t->names[i].whose;
	diff_add_weight(after ? &m->own[name].after : &m->own[name].before, &t->own[i]);
}

/* Puts a tree into the one of both. */
static void merge_tree(struct merging *m, const struct tree *t, bool after)
{
	auto_free uint32_t *names = xcalloc(t->name_count, sizeof(*names));
	auto_free uint32_t *place = xcalloc(t->count, sizeof(*place));
	auto_buf struct buf text = { 0 };

	for (uint32_t i = 0; i < t->name_count; i++) {
		buf_clear(&text);
		tree_name_text(t, i, &text);
		names[i] = strings_add(&m->d->names, text.data);
	}
	for (uint32_t i = 0; i < t->name_count; i++)
		add_own(m, t, i, names[i], after);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i];
		struct diff_node *to;

		place[i] = i ? child_of(m, place[n->parent], names[n->name]) : 0;
		to = &m->d->nodes[place[i]];
		diff_add_weight(after ? &to->self.after : &to->self.before, &n->self);
	}
}

int64_t diff_change(const struct diff *d, const struct diff_pair *p)
{
	if (d->by_count)
		return (int64_t)(p->after.count - p->before.count);
	return (int64_t)(p->after.bytes - p->before.bytes);
}

enum diff_status diff_status(const struct diff *d, const struct diff_pair *p)
{
	int64_t change = diff_change(d, p);

	if (!p->before.count && p->after.count)
		return DIFF_NEW;
	if (p->before.count && !p->after.count)
		return DIFF_GONE;
	return change > 0 ? DIFF_GROWN : change < 0 ? DIFF_SHRUNK : DIFF_SAME;
}

static int compare(const struct diff *d, const struct diff_pair *a, const struct diff_pair *b)
{
	int64_t x = diff_change(d, a), y = diff_change(d, b);
	uint64_t ax = (uint64_t)(x < 0 ? -x : x), ay = (uint64_t)(y < 0 ? -y : y);

	if (ax != ay)
		return ax < ay ? 1 : -1;
	if (a->after.bytes != b->after.bytes)
		return a->after.bytes < b->after.bytes ? 1 : -1;
	return 0;
}

ORDER_WITH(compare_stacks, struct diff_stack, struct diff,
	   compare(context, &x->weight, &y->weight) ?: RISING(node))

ORDER_WITH(compare_functions, struct diff_function, struct diff,
	   compare(context, &x->own, &y->own) ?: compare(context, &x->total, &y->total)
						 ?: RISING(name))

static void list_stacks(struct diff *d)
{
	size_t room = 0;

	for (uint32_t i = 0; i < d->node_count; i++) {
		const struct diff_node *n = &d->nodes[i];

		if (!n->self.before.count && !n->self.after.count)
			continue;
		*xpush(d->stacks, d->stack_count, room) = (struct diff_stack){ i, n->self };
	}
	SORT_WITH(d->stacks, d->stack_count, compare_stacks, d);
}

static bool is_inside_itself(const struct diff *d, uint32_t node)
{
	uint32_t name = d->nodes[node].name;

	while (node) {
		node = d->nodes[node].parent;
		if (node && d->nodes[node].name == name)
			return true;
	}
	return false;
}

static void list_functions(struct diff *d, const struct merging *m)
{
	uint32_t count = strings_count(&d->names), remaining = 0;
	struct diff_function *all = xcalloc(count, sizeof(*all));

	for (uint32_t i = 1; i < d->node_count; i++) {
		const struct diff_node *n = &d->nodes[i];
		struct diff_function *f = &all[n->name];

		f->name = n->name;
		f->own = m->own[n->name];
		add_pair(&f->self, &n->self);
		if (!is_inside_itself(d, i))
			add_pair(&f->total, &n->total);
	}
	for (uint32_t i = 0; i < count; i++)
		if (all[i].total.before.count || all[i].total.after.count)
			all[remaining++] = all[i];
	SORT_WITH(all, remaining, compare_functions, d);
	d->functions = all;
	d->function_count = remaining;
}

void diff_init(struct diff *d, const struct view *before, const struct measuring *how_before,
	       const struct view *after, const struct measuring *how_after, bool by_count)
{
	struct merging m = { .d = d };
	struct tree t;

	memset(d, 0, sizeof(*d));
	d->by_count = by_count;
	strings_init(&d->names);
	child_of(&m, TREE_NONE, 0);
	tree_init(&t, before,
		  &(struct tree_options){ .measuring = *how_before,
					  .responsible = responsible_of_view(before) });
	merge_tree(&m, &t, false);
	tree_release(&t);
	tree_init(&t, after,
		  &(struct tree_options){ .measuring = *how_after,
					  .responsible = responsible_of_view(after) });
	merge_tree(&m, &t, true);
	tree_release(&t);
	map_release(&m.children);
	for (uint32_t i = d->node_count; i-- > 0;) {
		add_pair(&d->nodes[i].total, &d->nodes[i].self);
		if (i)
			add_pair(&d->nodes[d->nodes[i].parent].total, &d->nodes[i].total);
	}
	list_stacks(d);
	list_functions(d, &m);
	free(m.own);
}

void diff_release(struct diff *d)
{
	strings_release(&d->names);
	free(d->whose);
	free(d->nodes);
	free(d->stacks);
	free(d->functions);
	memset(d, 0, sizeof(*d));
}
