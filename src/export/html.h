/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The data of an HTML page: what its files share while they write it.
 *
 * The page (assets/page.*) is always the same; what it shows is one JSON text in it.  Strings,
 * modules and functions are known by their number, and follow when all are known. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "export/export.h"
#include "export/flame.h"
#include "export/stacks.h"

struct page {
	const struct export *x;
	const struct model *model;
	struct json j;
	struct flame flame;
	const enum measure *measures; /* of the flame graph */
	double cut;		      /* nodes with no larger share are not in the page */
	size_t kept;
	uint32_t *function_ids; /* by function of the flame graph: plus one */
	size_t id_room;
	uint32_t function_count;
	struct map files, modules; /* to numbers in the page, by string and by module */
	struct stack_frames frames;
	struct buf text;
};

/* html_tree.c: decides which nodes of the flame graph are in the page. */
void html_prune(struct page *p);
/* "tree": the nodes, and what ends in them by each measure. */
void html_tree(struct page *p);
/* A number for a function. */
uint32_t html_function(struct page *p, uint32_t function);
/* "functions", "files" and "modules", when all numbers were given out. */
void html_names(struct page *p);

/* html_about.c: the program, its totals, what recording it cost; what is missing. */
void html_program(struct page *p);
void html_totals(struct page *p);
void html_warnings(struct page *p);
