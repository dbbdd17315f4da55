/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The layout of a flame graph.  See flame_layout.h. */
#include "answer/flame_layout.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "draw/flame_colour.h"

static uint32_t add_name(struct flame_layout *f, const struct flame_layout_name *name)
{
	f->names = xgrow(f->names, f->name_count, &f->name_room, sizeof(*f->names));
	f->names[f->name_count] = *name;
	return (uint32_t)f->name_count++;
}

void flame_layout_init(struct flame_layout *f, bool by_count)
{
	*f = (struct flame_layout){ .by_count = by_count };
	strings_init(&f->texts);
	strings_init(&f->modules);
	strings_init(&f->files);
}

void flame_layout_release(struct flame_layout *f)
{
	strings_release(&f->texts);
	strings_release(&f->modules);
	strings_release(&f->files);
	map_release(&f->children);
	map_release(&f->name_of);
	free(f->names);
	free(f->nodes);
}

static enum flame_layout_kind kind_of(const struct tree_name *n)
{
	switch (n->kind) {
	case TREE_ROOT:
		return FLAME_LAYOUT_ROOT;
	case TREE_THREAD:
		return FLAME_LAYOUT_THREAD;
	case TREE_OTHERS:
		return FLAME_LAYOUT_OTHERS;
	case TREE_NO_STACK:
		return FLAME_LAYOUT_NO_STACK;
	case TREE_FRAME:
		break;
	}
	return n->function ? FLAME_LAYOUT_FUNCTION : FLAME_LAYOUT_ADDRESS;
}

/* The text of a node: of a function its name alone, for filters; the root's is "all". */
static void text_of(const struct tree *t, uint32_t name, struct buf *out)
{
	const struct tree_name *n = &t->names[name];

	buf_clear(out);
	if (n->kind == TREE_FRAME && n->function && t->options.key != TREE_BY_MODULE)
		buf_text(out, locations_string(t->locations, n->function));
	else if (n->kind == TREE_ROOT)
		buf_text(out, "all");
	else
		tree_name_text(t, name, out);
}

static uint32_t take_name(struct flame_layout *f, const struct tree *t, uint32_t number, bool merge,
			  struct buf *text)
{
	const struct tree_name *n = &t->names[number];
	const char *module =
		n->kind == TREE_FRAME ? locations_module_path(t->locations, n->module) : "";
	struct flame_layout_name name = { .kind = kind_of(n), .colour = -1, .whose = n->whose };
	uint64_t key, known;

	text_of(t, number, text);
	name.text = strings_add(&f->texts, text->data);
	key = (uint64_t)name.text << 32 | (uint64_t)name.kind << 28 | (n->line & 0xfffffff);
	if (merge && map_get(&f->name_of, key, &known))
		return (uint32_t)known;
	if (n->kind == TREE_FRAME) {
		name.module = strings_add(&f->modules, path_base(module));
		name.file = strings_add(&f->files, locations_string(t->locations, n->file));
		name.line = n->line;
		name.colour = flame_colour_of(text->data, module);
	}
	number = add_name(f, &name);
	if (merge)
		map_set(&f->name_of, key, number);
	return number;
}

static uint32_t add_node(struct flame_layout *f, uint32_t parent, uint32_t name)
{
	f->nodes = xgrow(f->nodes, f->count, &f->room, sizeof(*f->nodes));
	f->nodes[f->count] = (struct flame_layout_node){ .parent = parent, .name = name };
	if (f->count) {
		f->nodes[f->count].depth = f->nodes[parent].depth + 1;
		f->nodes[f->count].next = f->nodes[parent].first_child;
		f->nodes[parent].first_child = (uint32_t)f->count;
	}
	return (uint32_t)f->count++;
}

static uint32_t child_of(struct flame_layout *f, uint32_t parent, uint32_t name, bool merge)
{
	uint64_t key = (uint64_t)parent << 32 | name, known;

	if (merge && map_get(&f->children, key, &known))
		return (uint32_t)known;
	known = add_node(f, parent, name);
	if (merge)
		map_set(&f->children, key, known);
	return (uint32_t)known;
}

static void add_weight(struct weight *to, const struct weight *w)
{
	to->bytes += w->bytes;
	to->count += w->count;
}

/* Of what is in no recording only the rules are known. */
static enum frame_kind whose_by_name(const char *text, const char *module)
{
	enum frame_kind kind = frame_kind_of_function(frame_rules(), text, "");

	if (kind == FRAME_KINDS)
		kind = frame_kind_of_module(frame_rules(), module);
	return kind == FRAME_KINDS ? FRAME_PROGRAM : kind;
}

uint32_t flame_layout_name(struct flame_layout *f, enum flame_layout_kind kind, const char *text,
			   const char *module, const char *file, uint32_t line)
{
	struct flame_layout_name name = {
		.text = strings_add(&f->texts, text), .kind = kind, .line = line, .colour = -1
	};
	uint64_t key = (uint64_t)name.text << 32 | (uint64_t)kind << 28 | (line & 0xfffffff), known;

	if (map_get(&f->name_of, key, &known))
		return (uint32_t)known;
	if (kind == FLAME_LAYOUT_FUNCTION || kind == FLAME_LAYOUT_ADDRESS) {
		name.whose = whose_by_name(text, module);
		name.module = strings_add(&f->modules, path_base(module));
		name.file = strings_add(&f->files, file);
		name.colour = flame_colour_of(text, module);
	}
	map_set(&f->name_of, key, f->name_count);
	return add_name(f, &name);
}

uint32_t flame_layout_child(struct flame_layout *f, uint32_t parent, uint32_t name)
{
	return f->count ? child_of(f, parent, name, true) : add_node(f, 0, name);
}

void flame_layout_weigh(struct flame_layout *f, uint32_t node, unsigned side,
			const struct weight *w)
{
	add_weight(&f->nodes[node].total[side], w);
}

void flame_layout_add(struct flame_layout *f, const struct tree *t, unsigned side, bool merge,
		      uint32_t under)
{
	auto_free uint32_t *names = xmalloc(((size_t)t->name_count + 1) * sizeof(*names));
	auto_free uint32_t *location = xmalloc(((size_t)t->count + 1) * sizeof(*location));
	auto_buf struct buf text = { 0 };

	for (uint32_t i = 0; i < t->name_count; i++)
		names[i] = take_name(f, t, i, merge, &text);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i];

		if (i)
			location[i] = child_of(f, location[n->parent], names[n->name], merge);
		else
			location[i] = f->count ? under : add_node(f, 0, names[n->name]);
		if (t->names[n->name].kind == TREE_OTHERS && n->hidden)
			f->hidden += n->hidden - 1; /* it stands for so many itself */
		add_weight(&f->nodes[location[i]].total[side], &n->total);
		add_weight(&f->nodes[location[i]].self[side], &n->self);
	}
}

static uint64_t weight_of(const struct flame_layout *f, const struct weight *w)
{
	return f->by_count ? w->count : w->bytes;
}

/* What orders: the larger of both. */
static uint64_t key_of(const struct flame_layout *f, const struct flame_layout_node *n)
{
	uint64_t a = weight_of(f, &n->total[0]), b = weight_of(f, &n->total[1]);

	return a > b ? a : b;
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* Nodes above the cut are kept, and so many that are just at it. */
static uint64_t find_cut(const struct flame_layout *f, uint32_t limit, uint64_t *ret_at_it)
{
	uint64_t *keys, cut = 0, above = 0;

	*ret_at_it = UINT64_MAX;
	if (f->count <= limit)
		return 0;
	keys = xmalloc(f->count * sizeof(*keys));
	for (size_t i = 0; i < f->count; i++)
		keys[i] = key_of(f, &f->nodes[i]);
	qsort(keys, f->count, sizeof(*keys), by_key);
	cut = keys[limit];
	while (above < limit && keys[above] > cut)
		above++;
	*ret_at_it = limit - above;
	free(keys);
	return cut;
}

/* While nodes are put in order: those that are next, the last one first. */
struct ordering {
	struct flame_layout *f;
	struct flame_layout_node *out;
	size_t count, room;
	uint64_t cut, at_it;
	struct flame_layout_node *next; /* parent: in `out` */
	size_t next_count, next_room;
	uint32_t *children;
	size_t children_room;
	uint32_t others; /* a name */
};

static int heavier(const void *a, const void *b, void *layout)
{
	const struct flame_layout *f = layout;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t m = key_of(f, &f->nodes[x]), n = key_of(f, &f->nodes[y]);

	return m > n ? -1 : m < n ? 1 : x < y ? -1 : x > y;
}

static void push(struct ordering *o, const struct flame_layout_node *n, uint32_t parent)
{
	o->next = xgrow(o->next, o->next_count, &o->next_room, sizeof(*o->next));
	o->next[o->next_count] = *n;
	o->next[o->next_count++].parent = parent;
}

static bool passes_cut(struct ordering *o, const struct flame_layout_node *n)
{
	uint64_t key = key_of(o->f, n);

	if (key != o->cut || o->at_it == UINT64_MAX)
		return key >= o->cut;
	if (!o->at_it)
		return false;
	o->at_it--;
	return true;
}

static void add_others(struct flame_layout_node *others, const struct flame_layout_node *n)
{
	for (unsigned side = 0; side < 2; side++) {
		add_weight(&others->total[side], &n->total[side]);
		add_weight(&others->self[side], &n->total[side]);
	}
}

/* The children of what was written last: those that stay, and one for all others. */
static void push_children(struct ordering *o, uint32_t first, uint32_t parent)
{
	struct flame_layout_node others = { .name = o->others };
	uint64_t hidden = 0;
	size_t n = 0, shown = 0;

	for (uint32_t i = first; i; i = o->f->nodes[i].next) {
		const struct flame_layout_node *c = &o->f->nodes[i];

		/* What the tree itself has put together is part of it. */
		if (o->f->names[c->name].kind == FLAME_LAYOUT_OTHERS) {
			add_others(&others, c);
			hidden++;
			continue;
		}
		o->children = xgrow(o->children, n, &o->children_room, sizeof(*o->children));
		o->children[n++] = i;
	}
	if (n > 1)
		qsort_r(o->children, n, sizeof(*o->children), heavier, o->f);
	while (shown < n && passes_cut(o, &o->f->nodes[o->children[shown]]))
		shown++;
	for (size_t i = shown; i < n; i++) {
		add_others(&others, &o->f->nodes[o->children[i]]);
		hidden++;
	}
	if (hidden)
		push(o, &others, parent);
	while (shown--)
		push(o, &o->f->nodes[o->children[shown]], parent);
}

void flame_layout_order(struct flame_layout *f, uint32_t limit)
{
	struct ordering o = { .f = f };
	uint64_t shown = 0;

	if (!f->count)
		return;
	o.cut = find_cut(f, limit ? limit : 1, &o.at_it);
	o.others =
		add_name(f, &(struct flame_layout_name){ .text = strings_add(&f->texts, "others"),
							 .kind = FLAME_LAYOUT_OTHERS,
							 .colour = -1 });
	passes_cut(&o, &f->nodes[0]);
	push(&o, &f->nodes[0], 0);
	while (o.next_count) {
		struct flame_layout_node n = o.next[--o.next_count];
		uint32_t at = (uint32_t)o.count;

		o.out = xgrow(o.out, o.count, &o.room, sizeof(*o.out));
		o.out[o.count++] = n;
		o.out[at].depth = at ? o.out[n.parent].depth + 1 : 0;
		shown += n.name != o.others;
		push_children(&o, n.first_child, at);
	}
	f->hidden += f->count - shown;
	free(f->nodes);
	f->nodes = o.out;
	f->count = o.count;
	f->room = o.room;
	free(o.next);
	free(o.children);
}
