/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees for flame graphs.  See flame_tree.h. */
#include "draw/flame_tree.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"

static uint32_t add_node(struct flame_tree *t, uint32_t parent, uint32_t function)
{
	uint32_t depth = t->count ? t->nodes[parent].depth + 1 : 0;

	t->nodes = xgrow(t->nodes, t->count, &t->room, sizeof(*t->nodes));
	t->amounts =
		xgrow(t->amounts, t->count, &t->amount_room, t->measures * sizeof(*t->amounts));
	t->nodes[t->count] = (struct flame_node){ parent, function, depth };
	memset(&t->amounts[t->count * t->measures], 0, t->measures * sizeof(*t->amounts));
	return (uint32_t)t->count++;
}

void flame_tree_init(struct flame_tree *t, unsigned measures)
{
	*t = (struct flame_tree){ .measures = measures };
	add_node(t, FLAME_ROOT, FLAME_NO_FUNCTION);
}

void flame_tree_release(struct flame_tree *t)
{
	free(t->nodes);
	free(t->amounts);
	map_release(&t->children);
}

uint32_t flame_tree_child(struct flame_tree *t, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function, id;

	if (map_get(&t->children, key, &id))
		return (uint32_t)id;
	id = add_node(t, parent, function);
	map_set(&t->children, key, id);
	return (uint32_t)id;
}

void flame_tree_add(struct flame_tree *t, uint32_t node, unsigned measure, uint64_t bytes,
		    uint64_t count)
{
	struct flame_amount *a = &t->amounts[(size_t)node * t->measures + measure];

	a->bytes += bytes;
	a->count += count;
}

void flame_tree_sum(struct flame_tree *t)
{
	for (size_t i = t->count; --i > 0;)
		for (unsigned m = 0; m < t->measures; m++) {
			const struct flame_amount *a = flame_tree_amount(t, i, m);

			flame_tree_add(t, t->nodes[i].parent, m, a->bytes, a->count);
		}
}

static double part(uint64_t of, uint64_t whole)
{
	return whole ? (double)of / (double)whole : 0;
}

double flame_tree_share(const struct flame_tree *t, size_t node)
{
	double most = 0;

	for (unsigned m = 0; m < t->measures; m++) {
		const struct flame_amount *a = flame_tree_amount(t, node, m);
		const struct flame_amount *all = flame_tree_amount(t, FLAME_ROOT, m);
		double bytes = part(a->bytes, all->bytes), count = part(a->count, all->count);

		most = bytes > most ? bytes : most;
		most = count > most ? count : most;
	}
	return most;
}

ORDER(by_size, double, COMPARE(*y, *x))

double flame_tree_cut(const struct flame_tree *t, size_t limit)
{
	double *shares, cut = 0;

	if (t->count <= limit)
		return 0;
	shares = xcalloc(t->count, sizeof(*shares));
	for (size_t i = 0; i < t->count; i++)
		shares[i] = flame_tree_share(t, i);
	SORT(shares, t->count, by_size);
	cut = shares[limit];
	free(shares);
	return cut;
}

void flame_names_of(const struct flame_names *names, uint32_t function, struct buf *name,
		    struct flame_source *ret)
{
	*ret = (struct flame_source){ "", "", 0, 0 };
	buf_clear(name);
	if (function == FLAME_NO_FUNCTION)
		buf_text(name, "all");
	else
		names->describe(names->context, function, name, ret);
	buf_reserve(name, 1);
	name->data[name->size] = 0;
}

void flame_source_put(const struct flame_source *s, struct buf *out)
{
	if (*s->module)
		buf_printf(out, " (%s)", path_base(s->module));
	if (!*s->file)
		return;
	buf_printf(out, "  %s", path_base(s->file));
	if (s->first)
		buf_printf(out, ":%u", s->first);
	if (s->last > s->first)
		buf_printf(out, "\xe2\x80\x93%u", s->last);
}
