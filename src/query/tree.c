/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Call trees.  See tree.h.
 *
 * First every stack is weighed, on all cores; from there on only different stacks matter.  They are
 * put into a tree by name (the grown one: children after their parents, in no other order), and
 * tree_shape.c makes of it what was asked for. */
#include "query/tree.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/responsible.h"
#include "query/tree_names.h"
#include "query/tree_shape.h"
#include "query/weigh.h"

struct growing {
	const struct view *v;
	const struct nodes *stacks;
	struct tree_names names;
	struct grown_tree tree;
	struct map children;	/* by parent and name */
	uint32_t *grown_of;	/* by stack node: its tree node plus one */
	uint32_t *path, *known; /* stack nodes: on the way to the root; that have an entry above */
	size_t path_room, known_count, known_room;
};

static uint32_t add_node(struct grown_tree *t, uint32_t parent, uint32_t name)
{
	*xpush(t->nodes, t->count, t->room) = (struct grown_node){ .parent = parent, .name = name };
	return (uint32_t)t->count - 1;
}

static uint32_t child_of(struct growing *g, uint32_t parent, uint32_t name)
{
	uint64_t key = (uint64_t)parent << 32 | name, id;

	/* A module that calls itself is still the same one. */
	if (g->names.key == TREE_BY_MODULE && parent && g->tree.nodes[parent].name == name)
		return parent;
	if (map_get(&g->children, key, &id))
		return (uint32_t)id;
	id = add_node(&g->tree, parent, name);
	map_set(&g->children, key, id);
	return (uint32_t)id;
}

/* The tree node of a stack below `top`: up to where the way is known, and down again. */
static uint32_t node_of_stack(struct growing *g, uint32_t stack, uint32_t top)
{
	size_t depth = 0;
	uint32_t at = top, id = stack;

	for (; node_is_known(g->stacks, id); id = g->stacks->parent[id]) {
		if (g->grown_of[id]) {
			at = g->grown_of[id] - 1;
			break;
		}
		*xpush(g->path, depth, g->path_room) = id;
	}
	while (depth--) {
		uint32_t count;
		const uint32_t *names = tree_names_of(
			&g->names, locations_of_node(g->v->locations, g->path[depth]), &count);

		for (uint32_t i = 0; i < count; i++)
			at = child_of(g, at, names[i]);
		g->grown_of[g->path[depth]] = at + 1;
		*xpush(g->known, g->known_count, g->known_room) = g->path[depth];
	}
	return at;
}

static void forget_ways(struct growing *g)
{
	for (size_t i = 0; i < g->known_count; i++)
		g->grown_of[g->known[i]] = 0;
	g->known_count = 0;
}

static void grow_tree(struct growing *g, const struct stack_weights *w, bool by_thread)
{
	uint32_t root = add_node(&g->tree, TREE_NONE, tree_names_add(&g->names, TREE_ROOT, 0));
	uint32_t others = tree_names_add(&g->names, TREE_OTHERS, 0);
	uint32_t no_stack = tree_names_add(&g->names, TREE_NO_STACK, 0);
	uint32_t top = root;

	g->tree.others = others;
	for (uint32_t i = 0; i < w->count; i++) {
		const struct stack_weight *s = &w->rows[i];
		struct grown_node *n;
		uint32_t at;

		if (by_thread && (!i || s->thread != s[-1].thread)) {
			forget_ways(g);
			top = child_of(g, root, tree_names_add(&g->names, TREE_THREAD, s->thread));
		}
		at = s->stack ? node_of_stack(g, s->stack, top) : child_of(g, top, no_stack);
		n = &g->tree.nodes[at];
		if (!n->self.count || s->first < n->first)
			n->first = s->first;
		n->last = MAX(n->last, s->last);
		n->self.bytes += s->weight.bytes;
		n->self.count += s->weight.count;
	}
}

/* What each name is responsible for. */
static struct weight *sum_own(const struct growing *g, const struct responsible *r,
			      const struct stack_weights *w)
{
	struct weight *own = xcalloc(g->names.count + 1, sizeof(*own));
	struct responsible_frame f;

	for (uint32_t i = 0; i < w->count; i++)
		if (w->rows[i].stack && responsible_find(r, w->rows[i].stack, &f))
			weight_add(&own[tree_names_of_frame(&g->names, f.location, f.index)],
				   &w->rows[i].weight);
	return own;
}

void tree_init(struct tree *t, const struct view *v, const struct tree_options *o)
{
	struct growing g = { .v = v, .stacks = &v->model->tables.nodes };
	struct stack_weights weights;

	memset(t, 0, sizeof(*t));
	t->options = *o;
	t->locations = v->locations;
	t->model = v->model;
	weigh_stacks(&weights, v, &o->measuring, o->by_thread);
	tree_names_init(&g.names, v->locations, o);
	g.grown_of = xcalloc(g.stacks->count + 1, sizeof(*g.grown_of));
	grow_tree(&g, &weights, o->by_thread);
	if (o->responsible)
		t->own = sum_own(&g, o->responsible, &weights);
	stack_weights_release(&weights);
	free(g.grown_of);
	free(g.path);
	free(g.known);
	map_release(&g.children);
	t->names = g.names.rows;
	t->name_count = (uint32_t)g.names.count;
	if (o->bottom_up)
		tree_shape_bottom_up(t, &g.tree);
	else
		tree_shape_top_down(t, &g.tree);
	free(g.tree.nodes);
	tree_names_release(&g.names);
}

void tree_release(struct tree *t)
{
	free(t->nodes);
	free(t->names);
	free(t->own);
	memset(t, 0, sizeof(*t));
}

ORDER_WITH(compare_totals, struct function_total, struct tree_options,
	   COMPARE(tree_weight(context, &y->total), tree_weight(context, &x->total))
		   ?: FALLING(total.count)
		   ?: RISING(name))

uint32_t *tree_ends(const struct tree *t)
{
	uint32_t *end = xcalloc(t->count, sizeof(*end));

	for (uint32_t i = t->count; i-- > 0;) {
		if (!end[i])
			end[i] = i + 1;
		if (t->nodes[i].parent != TREE_NONE && end[t->nodes[i].parent] < end[i])
			end[t->nodes[i].parent] = end[i];
	}
	return end;
}

uint32_t functions_order(const struct tree *t, struct function_total *all)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->name_count; i++)
		if (all[i].node_count && t->names[i].kind == TREE_FRAME)
			all[count++] = all[i];
	SORT_WITH(all, count, compare_totals, &t->options);
	return count;
}

struct function_total *tree_functions(const struct tree *t, uint32_t *ret_count)
{
	struct function_total *all = xcalloc(t->name_count, sizeof(*all));
	uint32_t *outermost = xcalloc(t->name_count, sizeof(*outermost)); /* node plus one */
	uint32_t *end = tree_ends(t);

	for (uint32_t i = 0; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i];
		struct function_total *f = &all[n->name];

		f->name = n->name;
		if (t->own)
			f->own = t->own[n->name];
		f->node_count++;
		weight_add(&f->self, &n->self);
		if (outermost[n->name] && i < end[outermost[n->name] - 1])
			continue; /* inside itself */
		outermost[n->name] = i + 1;
		weight_add(&f->total, &n->total);
	}
	free(outermost);
	free(end);
	*ret_count = functions_order(t, all);
	return all;
}
