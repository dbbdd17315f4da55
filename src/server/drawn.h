/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A call tree, or two laid over each other, as flat arrays for drawing: in the order of a walk,
 * heaviest children first, and at most so many nodes; what is lighter is summed. */
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "base/sink.h"
#include "base/strings.h"
#include "query/tree.h"

enum drawn_kind {
	DRAWN_ROOT,
	DRAWN_FUNCTION,
	DRAWN_THREAD,
	DRAWN_OTHERS,
	DRAWN_NO_STACK,
	DRAWN_ADDRESS
};

struct drawn_name {
	uint32_t text; /* a string of `names` */
	enum drawn_kind kind;
	uint32_t module, file; /* strings of `modules` and `files` */
	uint32_t line;
	int colour;
};

struct drawn_node {
	uint32_t name, parent, depth;
	struct weight total[2], self[2]; /* of the tree; of the one before it */
	uint32_t first_child, next;	 /* while it is being made; 0: none */
};

struct drawn {
	bool by_count;
	struct strings texts, modules, files;
	struct drawn_name *names;
	size_t name_count, name_room;
	struct drawn_node *nodes; /* the first is the root */
	size_t count, room;
	uint64_t hidden;	      /* nodes that were summed */
	struct map children, name_of; /* while it is being made */
};

void drawn_init(struct drawn *f, bool by_count);
/* Adds a tree that is not pruned; side 1 is the one to compare with.  Names that read the same are
 * the same where `merge` is set. */
void drawn_add(struct drawn *f, const struct tree *t, unsigned side, bool merge);
/* Puts it in order and leaves out the lightest; then it is complete. */
void drawn_order(struct drawn *f, uint32_t limit);
void drawn_release(struct drawn *f);

/* For trees of other sources: a name (those that read the same are one; a path of a module gives it
 * its colour), a child of a node (the first of all is the root), a weight on a node. */
uint32_t drawn_name(struct drawn *f, enum drawn_kind kind, const char *text, const char *module,
		    const char *file, uint32_t line);
uint32_t drawn_child(struct drawn *f, uint32_t parent, uint32_t name);
void drawn_weigh(struct drawn *f, uint32_t node, unsigned side, const struct weight *w);

/* "node_count", "hidden_count", "names", "modules", "files", "nodes"; of a difference with
 * "before".
 */
void drawn_json(struct json *j, const struct drawn *f, bool difference, struct sink *out);
