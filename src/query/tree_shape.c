/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shapes of a tree.  See tree_shape.h.
 *
 * Both ways are one walk with a list of branches that are still to be written.  A branch is the
 * children-to-be of one node: top-down the grown tree's own children, bottom-up a range of stacks
 * that is split by the name that each stands at. */
#include "query/tree_shape.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

#define TIES_MAX 65536 /* nodes beyond twice those that were asked for */

/* A child-to-be. */
struct branch {
	struct weight total, self;
	uint64_t first, last;
	uint32_t name;
	uint32_t from, to; /* top-down: the grown node; bottom-up: stacks */
};

struct shaping {
	struct tree *t;
	const struct grown_tree *g;
	size_t room;
	uint64_t least;	     /* what is lighter is pruned */
	struct branch *todo; /* siblings, the heaviest last */
	uint32_t *parents;   /* of those */
	size_t todo_count, todo_room, parents_room;
	struct branch *siblings; /* while they are found */
	size_t sibling_count, sibling_room;
};

ORDER_WITH(by_weight, struct branch, struct tree_options,
	   COMPARE(tree_weight(context, &y->total), tree_weight(context, &x->total))
		   ?: FALLING(total.count)
		   ?: RISING(name))

static uint32_t emit(struct shaping *s, const struct branch *b, uint32_t parent)
{
	struct tree *t = s->t;
	struct tree_node *n;

	t->nodes = xgrow(t->nodes, t->count, &s->room, sizeof(*t->nodes));
	n = &t->nodes[t->count];
	*n = (struct tree_node){
		.total = b->total,
		.self = b->self,
		.first = b->first,
		.last = b->last,
		.name = b->name,
		.parent = parent,
		.first_child = TREE_NONE,
		.next = TREE_NONE,
		.depth = parent == TREE_NONE ? 0 : t->nodes[parent].depth + 1,
	};
	return t->count++;
}

static void add_branch(struct shaping *s, const struct branch *b)
{
	*xpush(s->siblings, s->sibling_count, s->sibling_room) = *b;
}

static void join(struct branch *into, const struct branch *b)
{
	if (!into->total.count || b->first < into->first)
		into->first = b->first;
	into->last = MAX(into->last, b->last);
	into->total.bytes += b->total.bytes;
	into->total.count += b->total.count;
	into->to++;
}

static void push_branch(struct shaping *s, const struct branch *b, uint32_t parent)
{
	s->todo = xgrow(s->todo, s->todo_count, &s->todo_room, sizeof(*s->todo));
	if (s->parents_room < s->todo_room) {
		s->parents_room = s->todo_room;
		s->parents = xreallocarray(s->parents, s->parents_room, sizeof(*s->parents));
	}
	s->todo[s->todo_count] = *b;
	s->parents[s->todo_count++] = parent;
}

/* Sorts and prunes the siblings that were found below `parent`, and remembers what is left of them,
 * the rest joined as others. */
static void keep_siblings(struct shaping *s, uint32_t parent)
{
	struct tree_options *o = &s->t->options;
	struct branch others = { .name = s->g->others };
	uint32_t remaining = 0, limit = o->max_children ? o->max_children : UINT32_MAX;
	bool threads = o->by_thread && !parent;
	/* Where very many weigh just what the lightest does that may stay. */
	bool full = o->max_nodes && s->t->count + s->todo_count >= 2ull * o->max_nodes + TIES_MAX;

	if (!s->sibling_count)
		return;
	if (o->max_depth && s->t->nodes[parent].depth >= o->max_depth) {
		s->t->nodes[parent].hidden = (uint32_t)s->sibling_count;
		s->sibling_count = 0;
		return;
	}
	SORT_WITH(s->siblings, s->sibling_count, by_weight, o);
	while (!full && remaining < s->sibling_count && (remaining < limit || threads) &&
	       tree_weight(o, &s->siblings[remaining].total) >= s->least)
		remaining++;
	for (size_t i = remaining; i < s->sibling_count; i++)
		join(&others, &s->siblings[i]);
	if (others.to)
		push_branch(s, &others, parent);
	while (remaining--)
		push_branch(s, &s->siblings[remaining], parent);
	s->sibling_count = 0;
}

/* Writes node after node; `find` finds the children of one. */
static void walk_branches(struct shaping *s, const struct branch *root,
			  void (*find)(struct shaping *s, const struct branch *b, uint32_t node,
				       void *context),
			  void *context)
{
	auto_free uint32_t *last_child = NULL;
	size_t last_room = 0;
	double share = s->t->options.min_share * (double)tree_weight(&s->t->options, &root->total);
	uint64_t least = share < 1 ? 0 : (uint64_t)share;

	s->least = MAX(s->least, least);
	push_branch(s, root, TREE_NONE);
	while (s->todo_count) {
		struct branch b = s->todo[--s->todo_count];
		uint32_t parent = s->parents[s->todo_count], node = emit(s, &b, parent);

		last_child = xgrow(last_child, node, &last_room, sizeof(*last_child));
		last_child[node] = TREE_NONE;
		if (parent != TREE_NONE) {
			if (last_child[parent] == TREE_NONE)
				s->t->nodes[parent].first_child = node;
			else
				s->t->nodes[last_child[parent]].next = node;
			last_child[parent] = node;
		}
		if (b.name == s->g->others) {
			s->t->nodes[node].hidden = b.to;
			continue;
		}
		find(s, &b, node, context);
		keep_siblings(s, node);
	}
	free(s->todo);
	free(s->parents);
	free(s->siblings);
}

static void sum_branches(struct grown_tree *g)
{
	for (size_t i = g->count; i-- > 0;) {
		struct grown_node *n = &g->nodes[i], *p;

		n->total.bytes += n->self.bytes;
		n->total.count += n->self.count;
		if (!i)
			break;
		p = &g->nodes[n->parent];
		if ((!p->total.count && !p->self.count) || n->first < p->first)
			p->first = n->first;
		p->last = MAX(p->last, n->last);
		p->total.bytes += n->total.bytes;
		p->total.count += n->total.count;
	}
}

/* The children of node i are children[start[i]] up to children[start[i + 1]]. */
struct families {
	uint32_t *start, *children;
};

static void find_families(struct families *f, const struct grown_tree *g)
{
	f->start = xcalloc(g->count + 2, sizeof(*f->start));
	f->children = xcalloc(g->count, sizeof(*f->children));
	for (size_t i = 1; i < g->count; i++)
		f->start[g->nodes[i].parent + 2]++;
	for (size_t i = 1; i < g->count + 2; i++)
		f->start[i] += f->start[i - 1];
	for (size_t i = 1; i < g->count; i++)
		f->children[f->start[g->nodes[i].parent + 1]++] = (uint32_t)i;
}

static struct branch branch_of(const struct grown_tree *g, uint32_t node)
{
	const struct grown_node *n = &g->nodes[node];

	return (struct branch){ n->total, n->self, n->first, n->last, n->name, node, 0 };
}

static void find_children(struct shaping *s, const struct branch *b, uint32_t node, void *context)
{
	const struct families *f = context;

	for (uint32_t i = f->start[b->from]; i < f->start[b->from + 1]; i++) {
		struct branch child = branch_of(s->g, f->children[i]);

		add_branch(s, &child);
	}
}

ORDER(lightest_first, uint64_t, COMPARE(*x, *y))

/* What the lightest of the `most` heaviest nodes weighs. */
static uint64_t weigh_cut(const struct grown_tree *g, const struct tree_options *o, uint32_t most)
{
	uint64_t *heaviest, cut; /* a heap, the lightest on top */

	if (!most || g->count <= most)
		return 0;
	heaviest = xmalloc(most * sizeof(*heaviest));
	for (uint32_t i = 0; i < most; i++)
		heaviest[i] = tree_weight(o, &g->nodes[i].total);
	SORT(heaviest, most, lightest_first);
	for (size_t i = most; i < g->count; i++) {
		uint64_t weight = tree_weight(o, &g->nodes[i].total);
		uint32_t at = 0;

		if (weight <= heaviest[0])
			continue;
		for (uint32_t child; (child = 2 * at + 1) < most; at = child) {
			child += child + 1 < most && heaviest[child + 1] < heaviest[child];
			if (heaviest[child] >= weight)
				break;
			heaviest[at] = heaviest[child];
		}
		heaviest[at] = weight;
	}
	cut = heaviest[0];
	free(heaviest);
	return cut;
}

void tree_shape_top_down(struct tree *t, struct grown_tree *g)
{
	struct shaping s = { .t = t, .g = g };
	struct families f;
	struct branch root;

	sum_branches(g);
	find_families(&f, g);
	root = branch_of(g, 0);
	s.least = weigh_cut(g, &t->options, t->options.max_nodes);
	walk_branches(&s, &root, find_children, &f);
	free(f.start);
	free(f.children);
}

/* A stack on its way outwards: its weight, and the grown node that it stands at. */
struct cursor {
	struct weight weight;
	uint64_t first, last;
	uint32_t at, name;
};

ORDER(by_name, struct cursor, RISING(name) ?: RISING(at))

static bool is_top(const struct shaping *s, uint32_t at)
{
	return s->t->names[s->g->nodes[at].name].kind == TREE_THREAD;
}

struct turning {
	struct cursor *cursors;
	size_t count;
};

/* Splits the stacks of a range by the names that they stand at, and steps each outwards. */
static void split(struct shaping *s, struct cursor *cursors, uint32_t from, uint32_t to)
{
	SORT(cursors + from, to - from, by_name);
	for (uint32_t i = from; i < to;) {
		struct branch b = { .name = cursors[i].name, .from = i };
		uint32_t left = i; /* those that have a caller are moved to the front */

		for (; i < to && cursors[i].name == b.name; i++) {
			struct cursor c = cursors[i];
			struct branch one = { .total = c.weight, .first = c.first, .last = c.last };
			uint32_t parent = s->g->nodes[c.at].parent;

			join(&b, &one);
			if (!parent || is_top(s, parent)) {
				b.self.bytes += c.weight.bytes;
				b.self.count += c.weight.count;
				continue;
			}
			c.at = parent;
			c.name = s->g->nodes[parent].name;
			cursors[left++] = c;
		}
		b.to = left;
		add_branch(s, &b);
	}
}

/* Below the root: a thread's stacks each, from names that stand for it. */
static void split_threads(struct shaping *s, struct cursor *cursors, uint32_t from, uint32_t to)
{
	SORT(cursors + from, to - from, by_name);
	for (uint32_t i = from; i < to;) {
		struct branch b = { .name = cursors[i].name, .from = i };

		for (; i < to && cursors[i].name == b.name; i++) {
			struct branch one = { .total = cursors[i].weight,
					      .first = cursors[i].first,
					      .last = cursors[i].last };

			join(&b, &one);
		}
		for (uint32_t k = b.from; k < i; k++)
			cursors[k].name = s->g->nodes[cursors[k].at].name;
		b.to = i;
		add_branch(s, &b);
	}
}

static void find_callers(struct shaping *s, const struct branch *b, uint32_t node, void *context)
{
	const struct turning *turning = context;

	if (!node && s->t->options.by_thread)
		split_threads(s, turning->cursors, b->from, b->to);
	else
		split(s, turning->cursors, b->from, b->to);
}

/* Branches that are still to be looked at, the heaviest on top. */
struct heap {
	const struct tree_options *o;
	struct branch *rows;
	size_t count, room;
};

static void heap_push(struct heap *h, const struct branch *b)
{
	uint64_t weight = tree_weight(h->o, &b->total);
	size_t at = h->count;

	h->rows = xgrow(h->rows, h->count++, &h->room, sizeof(*h->rows));
	for (; at && tree_weight(h->o, &h->rows[(at - 1) / 2].total) < weight; at = (at - 1) / 2)
		h->rows[at] = h->rows[(at - 1) / 2];
	h->rows[at] = *b;
}

static struct branch heap_pop(struct heap *h)
{
	struct branch top = h->rows[0], last = h->rows[--h->count];
	uint64_t weight = tree_weight(h->o, &last.total);
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
		child += child + 1 < h->count && tree_weight(h->o, &h->rows[child + 1].total) >
							 tree_weight(h->o, &h->rows[child].total);
		if (tree_weight(h->o, &h->rows[child].total) <= weight)
			break;
		h->rows[at] = h->rows[child];
	}
	h->rows[at] = last;
	return top;
}

/* The same cut where nodes are not known before they are made: deep stacks make millions of them.
 * Children weigh at most what their parent does, so those that are made heaviest first are the
 * heaviest. */
static uint64_t find_cut(struct shaping *s, const struct branch *root,
			 const struct turning *turning)
{
	struct turning copy = { .count = turning->count };
	struct heap h = { .o = &s->t->options };
	uint64_t cut = 0;
	uint32_t node = 0;

	if (!h.o->max_nodes || h.o->max_nodes == UINT32_MAX)
		return 0;
	copy.cursors =
		(void *)xmemdup0(turning->cursors, turning->count * sizeof(*turning->cursors));
	heap_push(&h, root);
	while (h.count && !cut) {
		struct branch b = heap_pop(&h);

		if (node + 1 == h.o->max_nodes)
			cut = tree_weight(h.o, &b.total);
		find_callers(s, &b, node++, &copy);
		for (size_t i = 0; i < s->sibling_count; i++)
			heap_push(&h, &s->siblings[i]);
		s->sibling_count = 0;
	}
	free(h.rows);
	free(copy.cursors);
	return cut;
}

void tree_shape_bottom_up(struct tree *t, struct grown_tree *g)
{
	struct shaping s = { .t = t, .g = g };
	struct turning turning = { .cursors = xcalloc(g->count, sizeof(*turning.cursors)) };
	uint32_t *top = xcalloc(g->count, sizeof(*top)); /* the root's child that it is below */
	struct branch root;

	for (uint32_t i = 1; i < g->count; i++) {
		const struct grown_node *n = &g->nodes[i];

		top[i] = n->parent ? top[n->parent] : i;
		if (!n->self.count)
			continue;
		turning.cursors[turning.count++] = (struct cursor){
			n->self,
			n->first,
			n->last,
			i,
			t->options.by_thread ? g->nodes[top[i]].name : n->name,
		};
	}
	free(top);
	sum_branches(g);
	root = branch_of(g, 0);
	root.from = 0;
	root.to = (uint32_t)turning.count;
	s.least = find_cut(&s, &root, &turning);
	walk_branches(&s, &root, find_callers, &turning);
	free(turning.cursors);
}
