/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The call tree of a page, and the names in it.  See html.h.
 *
 * The tree is there once, with every measure in it: the page makes flame graphs in both directions
 * of it.  A page has to stay small enough to be sent, so of a large tree only the heaviest nodes
 * are there, each parent with one child that stands for the others. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "export/html.h"

#define NODES_MOST 30000      /* of the call tree */
#define NODES_LEAST 1000      /* however long their names are */
#define NAMES_MOST (3u << 20) /* bytes of functions' names */

static bool is_kept(const struct page *p, size_t node)
{
	return node == FLAME_ROOT || flame_share(&p->flame, node) > p->cut;
}

/* How many nodes are kept, and how long the names of their functions are. */
static size_t names_size(struct page *p)
{
	uint8_t *seen = xcalloc(p->flame.functions.count + 1, 1);
	size_t size = 0;

	p->kept = 0;
	for (size_t i = 0; i < p->flame.count; i++) {
		uint32_t function = p->flame.nodes[i].function;

		if (!is_kept(p, i))
			continue;
		p->kept++;
		if (!i || seen[function])
			continue;
		seen[function] = 1;
		size += strlen(places_string(p->x->view->places,
					     p->flame.functions.rows[function].function));
	}
	free(seen);
	return size;
}

void html_prune(struct page *p)
{
	size_t limit = NODES_MOST;

	p->cut = flame_cut(&p->flame, limit);
	while (names_size(p) > NAMES_MOST && limit > NODES_LEAST)
		p->cut = flame_cut(&p->flame, limit /= 2);
}

/* A number for a string or a module, in the order in which they are asked for. */
static uint64_t number_of(struct map *m, uint32_t id)
{
	uint64_t number = m->count;

	if (!map_get(m, id, &number))
		map_set(m, id, number);
	return number;
}

/* [name, file, first line, last line, module, colour]; a file or module of -1 is not known. */
static void put_function(struct page *p, uint32_t function)
{
	const struct functions_row *row = &p->flame.functions.rows[function];
	const struct flame_lines *lines = &p->flame.lines[function];

	json_array(&p->j, NULL);
	buf_clear(&p->text);
	flame_name(&p->flame, function, &p->text);
	json_text(&p->j, NULL, p->text.data);
	if (row->file)
		json_number(&p->j, NULL, number_of(&p->files, row->file));
	else
		json_real(&p->j, NULL, -1, 0);
	json_number(&p->j, NULL, lines->first);
	json_number(&p->j, NULL, lines->last);
	if (row->module)
		json_number(&p->j, NULL, number_of(&p->modules, row->module));
	else
		json_real(&p->j, NULL, -1, 0);
	json_real(&p->j, NULL, flame_colour(&p->flame, function), 0);
	json_end_array(&p->j);
}

uint32_t html_function(struct page *p, uint32_t function)
{
	while (function >= p->id_room) {
		p->function_ids = xreallocarray(p->function_ids, p->id_room * 2 + 16,
						sizeof(*p->function_ids));
		memset(p->function_ids + p->id_room, 0,
		       (p->id_room + 16) * sizeof(*p->function_ids));
		p->id_room = p->id_room * 2 + 16;
	}
	if (!p->function_ids[function])
		p->function_ids[function] = ++p->function_count;
	return p->function_ids[function] - 1;
}

static void put_functions(struct page *p)
{
	uint32_t *by_id = xcalloc(p->function_count + 1, sizeof(*by_id));

	for (uint32_t i = 0; i < p->id_room; i++)
		if (p->function_ids[i])
			by_id[p->function_ids[i] - 1] = i;
	json_array(&p->j, "functions");
	for (uint32_t i = 0; i < p->function_count; i++)
		put_function(p, by_id[i]);
	json_end_array(&p->j);
	free(by_id);
}

/* Strings by their number. */
static void put_names(struct page *p, const char *key, const struct map *m,
		      const char *(*name)(const struct places *places, uint32_t id))
{
	const char **names = xcalloc(m->count + 1, sizeof(*names));

	for (size_t i = 0; i < m->room; i++)
		if (m->entries[i].value)
			names[m->entries[i].value - 1] =
				name(p->x->view->places, (uint32_t)m->entries[i].key);
	json_array(&p->j, key);
	for (size_t i = 0; i < m->count; i++)
		json_text(&p->j, NULL, names[i]);
	json_end_array(&p->j);
	free(names);
}

/* Numbers of nodes in the page, plus one: their own, and that of the child that stands for those
 * that were left out. */
struct numbers {
	uint32_t *node, *others;
	uint32_t count;
};

static void number_nodes(const struct page *p, struct numbers *n)
{
	const struct flame *f = &p->flame;

	*n = (struct numbers){ xcalloc(f->count, sizeof(*n->node)),
			       xcalloc(f->count, sizeof(*n->others)), 0 };
	for (size_t i = 0; i < f->count; i++)
		if (is_kept(p, i))
			n->node[i] = ++n->count;
	for (size_t i = 1; i < f->count; i++) {
		uint32_t parent = f->nodes[i].parent;

		if (!n->node[i] && n->node[parent] && !n->others[parent])
			n->others[parent] = ++n->count;
	}
}

/* What ends in each node. */
static void own_weights(const struct page *p, const struct numbers *n, unsigned measure,
			struct weight *own)
{
	const struct flame *f = &p->flame;

	for (size_t i = 0; i < f->count; i++) {
		const struct weight *w = flame_weight(f, i, measure);
		uint32_t parent = f->nodes[i].parent;

		if (n->node[i])
			own[n->node[i] - 1] = *w;
		if (!i || !n->node[parent])
			continue;
		own[n->node[parent] - 1].bytes -= w->bytes;
		own[n->node[parent] - 1].count -= w->count;
		if (!n->node[i]) {
			own[n->others[parent] - 1].bytes += w->bytes;
			own[n->others[parent] - 1].count += w->count;
		}
	}
}

/* Which nodes have a weight of their own (as steps from one to the next), and it. */
static void put_weights(struct page *p, const struct numbers *n, unsigned measure)
{
	struct weight *own = xcalloc(n->count, sizeof(*own));
	const char *const keys[] = { "at", "bytes", "count" };

	own_weights(p, n, measure, own);
	json_object(&p->j, NULL);
	json_text(&p->j, "name", measure_rows[p->measures[measure]].name);
	for (unsigned k = 0; k < 3; k++) {
		size_t last = 0;

		json_array(&p->j, keys[k]);
		for (size_t i = 0; i < n->count; i++) {
			if (!own[i].count)
				continue;
			json_number(&p->j, NULL,
				    k == 0   ? i - last
				    : k == 1 ? own[i].bytes
					     : own[i].count);
			last = i;
		}
		json_end_array(&p->j);
	}
	json_end_object(&p->j);
	free(own);
}

/* Nodes with their parents before them: how far back the parent is, and which function it is; -1
 * for what stands for others. */
static void put_nodes(struct page *p, const struct numbers *n)
{
	const struct flame *f = &p->flame;

	json_array(&p->j, "up");
	for (size_t i = 1; i < f->count; i++)
		if (n->node[i])
			json_number(&p->j, NULL, n->node[i] - n->node[f->nodes[i].parent]);
	for (size_t i = 0; i < f->count; i++)
		if (n->others[i])
			json_number(&p->j, NULL, n->others[i] - n->node[i]);
	json_end_array(&p->j);
	json_array(&p->j, "functions");
	for (size_t i = 1; i < f->count; i++)
		if (n->node[i])
			json_number(&p->j, NULL, html_function(p, f->nodes[i].function));
	for (size_t i = 0; i < f->count; i++)
		if (n->others[i])
			json_real(&p->j, NULL, -1, 0);
	json_end_array(&p->j);
}

void html_tree(struct page *p)
{
	struct numbers n;

	number_nodes(p, &n);
	json_object(&p->j, "tree");
	json_number(&p->j, "all", p->flame.count);
	json_number(&p->j, "kept", p->kept);
	json_real(&p->j, "cut", p->cut, 9);
	put_nodes(p, &n);
	json_array(&p->j, "weights");
	for (unsigned m = 0; m < p->flame.measures; m++)
		put_weights(p, &n, m);
	json_end_array(&p->j);
	json_end_object(&p->j);
	free(n.node);
	free(n.others);
}

void html_names(struct page *p)
{
	put_functions(p);
	put_names(p, "files", &p->files, places_string);
	put_names(p, "modules", &p->modules, places_module_path);
}
