/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* An HTML page that needs nothing else: flame graphs of one tree, tables, and what its maker adds.
 *
 * The page (assets/page.*) is always the same; what it shows is one JSON text in it, and parts that
 * have no data are not there.  Functions, files and modules are known by their number, and follow
 * when all are known.
 *
 * The tree is there once, with every measure in it: the page makes flame graphs in both directions
 * of it.  A page has to stay small enough to be sent, so of a large tree only the heaviest nodes
 * are there, each parent with one child that stands for the others. */
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "base/json.h"
#include "base/strings.h"
#include "draw/flame_tree.h"

struct sink;

struct page {
	struct json j; /* the maker's to begin and to end */
	const struct flame_tree *tree;
	const struct flame_names *names;
	double cut; /* nodes with no larger share are not in the page */
	size_t node_count;
	uint32_t *function_ids; /* by function: plus one */
	size_t id_room;
	uint32_t function_count;
	struct strings files, modules; /* numbers in the page are these less one */
	struct buf text;
};

/* Decides which nodes are in the page; its JSON goes to `data`. */
void page_init(struct page *p, const struct flame_tree *tree, const struct flame_names *names,
	       struct buf *data);
void page_release(struct page *p);
/* "tree": the nodes, and what ends in them by each measure, which has a name for each. */
void page_tree(struct page *p, const char *const *measures);
/* A number for a function, perhaps one that is in no node. */
uint32_t page_function(struct page *p, uint32_t function);
/* "functions", "files" and "modules", when all numbers were given out. */
void page_names(struct page *p);
/* The page around its data. */
void page_write(struct sink *out, const char *title, const struct buf *data);
