/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The layout of a flame graph: a call tree, or two laid over each other, as flat arrays in the
 * order of a walk, heaviest children first, and at most so many nodes; what is lighter is summed.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "base/strings.h"
#include "query/tree.h"

struct sink;

enum flame_layout_kind {
	FLAME_LAYOUT_ROOT,
	FLAME_LAYOUT_FUNCTION,
	FLAME_LAYOUT_THREAD,
	FLAME_LAYOUT_OTHERS,
	FLAME_LAYOUT_NO_STACK,
	FLAME_LAYOUT_ADDRESS,
	FLAME_LAYOUT_PROCESS
};

struct flame_layout_name {
	uint32_t text; /* a string of `names` */
	enum flame_layout_kind kind;
	uint32_t module, file; /* strings of `modules` and `files` */
	uint32_t line;
	int colour;
	enum frame_kind whose;
};

struct flame_layout_node {
	uint32_t name, parent, depth;
	struct weight total[2], self[2]; /* of the tree; of the one before it */
	uint32_t first_child, next;	 /* while it is being made; 0: none */
};

struct flame_layout {
	bool by_count;
	struct strings texts, modules, files;
	struct flame_layout_name *names;
	size_t name_count, name_room;
	struct flame_layout_node *nodes; /* the first is the root */
	size_t count, room;
	uint64_t hidden;	      /* nodes that were summed */
	struct map children, name_of; /* while it is being made */
};

void flame_layout_init(struct flame_layout *f, bool by_count);
/* Adds a tree that is not pruned; side 1 is the one to compare with.  Names that read the same are
 * the same where `merge` is set.  The tree's root becomes the node `under`, 0 being the root. */
void flame_layout_add(struct flame_layout *f, const struct tree *t, unsigned side, bool merge,
		      uint32_t under);
/* Puts it in order and leaves out the lightest; then it is complete. */
void flame_layout_order(struct flame_layout *f, uint32_t limit);
void flame_layout_release(struct flame_layout *f);

/* For trees of other sources: a name (those that read the same are one; a path of a module gives it
 * its colour), a child of a node (the first of all is the root), a weight on a node. */
uint32_t flame_layout_name(struct flame_layout *f, enum flame_layout_kind kind, const char *text,
			   const char *module, const char *file, uint32_t line);
uint32_t flame_layout_child(struct flame_layout *f, uint32_t parent, uint32_t name);
void flame_layout_weigh(struct flame_layout *f, uint32_t node, unsigned side,
			const struct weight *w);

/* "total": {…}. */
void flame_layout_total(struct json *j, const struct flame_layout *f, bool difference);
/* "node_count", "hidden_count", "names", "modules", "files", "nodes"; of a difference with
 * "before".
 */
void flame_layout_json(struct json *j, const struct flame_layout *f, bool difference,
		       struct sink *out);
