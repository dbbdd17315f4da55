/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who calls a function, and what it calls.  See callers.h. */
#include "query/callers.h"

#include <string.h>

#include "base/buf_type.h"
#include "base/xalloc.h"

/* One side of the function: rows by name. */
struct neighbour_side {
	struct function_total *rows;
	uint32_t *outermost; /* by name: the node plus one that was counted last */
};

static void start_side(struct neighbour_side *s, const struct tree *t)
{
	s->rows = xcalloc(t->name_count, sizeof(*s->rows));
	s->outermost = xcalloc(t->name_count, sizeof(*s->outermost));
}

/* Node `i`, in the row of `name`: its total unless it lies inside one that has been counted. */
static void add_neighbour(struct neighbour_side *s, const struct tree *t, const uint32_t *end,
			  uint32_t name, uint32_t i)
{
	const struct tree_node *n = &t->nodes[i];
	struct function_total *f = &s->rows[name];

	f->name = name;
	f->node_count++;
	weight_add(&f->self, &n->self);
	if (s->outermost[name] && i < end[s->outermost[name] - 1])
		return;
	s->outermost[name] = i + 1;
	weight_add(&f->total, &n->total);
}

static struct function_total *end_side(struct neighbour_side *s, const struct tree *t,
				       uint32_t *ret_count)
{
	free(s->outermost);
	*ret_count = functions_order(t, s->rows);
	return s->rows;
}

static bool is_called(const struct tree *t, uint32_t name, const char *function)
{
	auto_buf struct buf text = { 0 };
	size_t n = strlen(function);
	bool ret;

	if (t->names[name].kind != TREE_FRAME || !n)
		return false;
	tree_name_text(t, name, &text);
	ret = !strncmp(text.data, function, n) && (!text.data[n] || text.data[n] == '(');
	return ret;
}

void callers_init(struct callers *c, const struct tree *t, const char *function)
{
	auto_free bool *wanted = xcalloc(t->name_count, sizeof(*wanted));
	uint32_t *end = tree_ends(t), inside = 0;
	struct neighbour_side callers, callees;

	memset(c, 0, sizeof(*c));
	c->function.name = TREE_NONE;
	start_side(&callers, t);
	start_side(&callees, t);
	for (uint32_t i = 0; i < t->name_count; i++)
		wanted[i] = is_called(t, i, function);
	for (uint32_t i = 1; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i], *above = &t->nodes[n->parent];

		if (wanted[above->name])
			add_neighbour(&callees, t, end, n->name, i);
		if (!wanted[n->name])
			continue;
		if (t->names[above->name].kind == TREE_FRAME)
			add_neighbour(&callers, t, end, above->name, i);
		else
			weight_add(&c->no_caller, &n->total);
		if (!c->function.node_count++)
			c->function.name = n->name;
		weight_add(&c->function.self, &n->self);
		if (i >= inside) {
			weight_add(&c->function.total, &n->total);
			inside = end[i];
		}
	}
	c->callers = end_side(&callers, t, &c->caller_count);
	c->callees = end_side(&callees, t, &c->callee_count);
	free(end);
}

void callers_release(struct callers *c)
{
	free(c->callers);
	free(c->callees);
}
