/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages.  See page.h. */
#include "draw/page.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "draw/assets.h"
#include "draw/flame_colour.h"
#include "draw/xml.h"

#define NODES_MOST 30000      /* of the call tree */
#define NODES_LEAST 1000      /* however long their names are */
#define NAMES_MOST (3u << 20) /* bytes of functions' names */

static bool is_kept(const struct page *p, size_t node)
{
	return node == FLAME_ROOT || flame_tree_share(p->tree, node) > p->cut;
}

/* How many nodes are kept, and how long the names of their functions are. */
static size_t names_size(struct page *p)
{
	auto_free uint8_t *seen = xcalloc((size_t)p->names->count + 1, 1);
	struct flame_source source;
	size_t size = 0;

	p->node_count = 0;
	for (size_t i = 0; i < p->tree->count; i++) {
		uint32_t function = p->tree->nodes[i].function;

		if (!is_kept(p, i))
			continue;
		p->node_count++;
		if (!i || seen[function])
			continue;
		seen[function] = 1;
		flame_names_of(p->names, function, &p->text, &source);
		size += p->text.size;
	}
	return size;
}

void page_init(struct page *p, const struct flame_tree *tree, const struct flame_names *names,
	       struct buf *data)
{
	size_t limit = NODES_MOST;

	*p = (struct page){ .tree = tree, .names = names, .j = { .out = data, .compact = true } };
	strings_init(&p->files);
	strings_init(&p->modules);
	p->cut = flame_tree_cut(tree, limit);
	while (names_size(p) > NAMES_MOST && limit > NODES_LEAST)
		p->cut = flame_tree_cut(tree, limit /= 2);
}

void page_release(struct page *p)
{
	strings_release(&p->files);
	strings_release(&p->modules);
	free(p->function_ids);
	buf_release(&p->text);
}

/* The number of a text of the page, in the order in which they are asked for; -1 for none. */
static void put_number_of(struct page *p, struct strings *of, const char *text)
{
	json_real(&p->j, NULL, (double)strings_add(of, text) - 1, 0);
}

/* [name, file, first line, last line, module, colour]; a file or module of -1 is not known. */
static void put_function(struct page *p, uint32_t function)
{
	struct flame_source source;

	json_array(&p->j, NULL);
	flame_names_of(p->names, function, &p->text, &source);
	json_text(&p->j, NULL, p->text.data);
	put_number_of(p, &p->files, source.file);
	json_number(&p->j, NULL, source.first);
	json_number(&p->j, NULL, source.last);
	put_number_of(p, &p->modules, source.module);
	json_real(&p->j, NULL, flame_colour_of(p->text.data, source.module), 0);
	json_end_array(&p->j);
}

uint32_t page_function(struct page *p, uint32_t function)
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
	auto_free uint32_t *by_id = xcalloc(p->function_count + 1, sizeof(*by_id));

	for (uint32_t i = 0; i < p->id_room; i++)
		if (p->function_ids[i])
			by_id[p->function_ids[i] - 1] = i;
	JSON_EACH(&p->j, "functions", i, p->function_count)
		put_function(p, by_id[i]);
}

/* Texts by their number. */
static void put_texts(struct page *p, const char *key, const struct strings *of)
{
	json_array(&p->j, key);
	for (uint32_t i = 1; i < strings_count(of); i++)
		json_text(&p->j, NULL, strings_at(of, i));
	json_end_array(&p->j);
}

/* Numbers of nodes in the page, plus one: their own, and that of the child that stands for those
 * that were left out. */
struct numbers {
	uint32_t *node, *others;
	uint32_t count;
};

static void number_nodes(const struct page *p, struct numbers *n)
{
	const struct flame_tree *f = p->tree;

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
			struct flame_amount *own)
{
	const struct flame_tree *f = p->tree;

	for (size_t i = 0; i < f->count; i++) {
		const struct flame_amount *w = flame_tree_amount(f, i, measure);
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
static void put_weights(struct page *p, const struct numbers *n, unsigned measure, const char *name)
{
	auto_free struct flame_amount *own = xcalloc(n->count, sizeof(*own));
	const char *const keys[] = { "at", "bytes", "count" };

	own_weights(p, n, measure, own);
	json_object(&p->j, NULL);
	json_text(&p->j, "name", name);
	for (unsigned k = 0; k < 3; k++) {
		size_t last = 0;

		JSON_EACH(&p->j, keys[k], i, n->count) {
			if (!own[i].count && !own[i].bytes)
				continue;
			json_number(&p->j, NULL,
				    k == 0   ? i - last
				    : k == 1 ? own[i].bytes
					     : own[i].count);
			last = i;
		}
	}
	json_end_object(&p->j);
}

/* Nodes with their parents before them: how far back the parent is, and which function it is; -1
 * for what stands for others. */
static void put_nodes(struct page *p, const struct numbers *n)
{
	const struct flame_tree *f = p->tree;

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
			json_number(&p->j, NULL, page_function(p, f->nodes[i].function));
	for (size_t i = 0; i < f->count; i++)
		if (n->others[i])
			json_real(&p->j, NULL, -1, 0);
	json_end_array(&p->j);
}

void page_tree(struct page *p, const char *const *measures)
{
	struct numbers n;

	number_nodes(p, &n);
	json_object(&p->j, "tree");
	json_number(&p->j, "all", p->tree->count);
	json_number(&p->j, "kept", p->node_count);
	json_real(&p->j, "cut", p->cut, 9);
	put_nodes(p, &n);
	JSON_EACH(&p->j, "weights", m, p->tree->measures)
		put_weights(p, &n, m, measures[m]);
	json_end_object(&p->j);
	free(n.node);
	free(n.others);
}

void page_names(struct page *p)
{
	put_functions(p);
	put_texts(p, "files", &p->files);
	put_texts(p, "modules", &p->modules);
}

/* Fills the holes of page.html: "@TITLE@" and so on. */
void page_write(struct sink *out, const char *title, const struct buf *data)
{
	const char *text = asset_page_html;

	for (const char *hole; (hole = strchr(text, '@')); text = strchr(hole + 1, '@') + 1) {
		buf_add(&out->buf, text, (size_t)(hole - text));
		if (!strncmp(hole, "@TITLE@", 7))
			xml_text(&out->buf, title, 200);
		else if (!strncmp(hole, "@CSS@", 5))
			buf_text(&out->buf, asset_page_css);
		else if (!strncmp(hole, "@JS@", 4))
			buf_text(&out->buf, asset_page_js);
		else
			xml_json(&out->buf, data);
		sink_turn(out);
	}
	buf_text(&out->buf, text);
}
