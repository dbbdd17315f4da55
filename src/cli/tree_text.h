/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A call tree for a terminal, and as JSON. */
#include "base/buf.h"
#include "base/json.h"
#include "base/term.h"
#include "query/tree.h"

struct tree_text {
	struct term term;
	bool full; /* names as long as they are */
};

/* Branches with guides.  A line without figures has those of the line above it: the only child of
 * that. */
void tree_text_branches(struct buf *out, const struct tree_text *how, const struct tree *t);
/* Functions (or lines, or modules) with what they and what is below them weigh; `top` of them. */
void tree_text_flat(struct buf *out, const struct tree_text *how, const struct tree *t,
		    uint32_t top);
/* "tree": nodes in each other. */
void tree_json_branches(struct json *j, const struct tree *t);
/* "functions": an array. */
void tree_json_flat(struct json *j, const struct tree *t, uint32_t top);
