/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the threads of a Firefox profile share: strings, functions, frames, stacks, libraries.
 *
 * Only what the view needs is in them.  Numbers are given out by walking nodes, locations and
 * modules in their order, so hardly a table is held as such: each column is another walk.  One
 * thread: the exporter's. */
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"
#include "export/functions.h"
#include "query/view.h"

struct sink;

enum firefox_category { FIREFOX_OTHER, FIREFOX_PROGRAM };

struct firefox_function {
	uint32_t id;	 /* in `functions` */
	uint32_t module; /* 0: none */
};

struct firefox_tables {
	const struct view *view;
	struct sink *out;
	uint32_t *stacks;   /* by node, its innermost frame's; 0: not needed */
	uint32_t *frames;   /* by location, its outermost frame's; 0: not needed */
	uint32_t *of_frame; /* function, by frame */
	uint32_t *strings;  /* by string of locations: 1 + its number */
	uint32_t *sources;  /* the same of those that are files */
	/* The same the other way round, in the order in which frames need them: theirs in the
	 * locations depends on which thread found which name first. */
	uint32_t *string_of, *source_of;
	size_t string_room, source_room;
	uint32_t *libraries; /* by module: 1 + its number */
	uint32_t program;    /* a module; 0: not known */
	uint32_t stack_count, frame_count, string_count, source_count, library_count;
	struct functions functions;
	struct firefox_function *rows;
	size_t row_count, row_room;
	struct map by_module; /* function << 32 | module to row */
};

void firefox_tables_init(struct firefox_tables *t, const struct view *v, struct sink *out);
void firefox_tables_release(struct firefox_tables *t);

/* The stack of a node; that of what has none is stack 0. */
static inline uint32_t firefox_stack(const struct firefox_tables *t, uint32_t node)
{
	return node < t->view->model->tables.nodes.count ? t->stacks[node] : 0;
}

/* "libs": […] and "shared": {…}. */
void firefox_put_libraries(struct firefox_tables *t, struct json *j);
void firefox_put_shared(struct firefox_tables *t, struct json *j);
