/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A call tree for a terminal. */
#include "answer/functions.h"
#include "base/term.h"
#include "query/tree.h"

struct buf;

struct tree_text {
	struct term term;
	bool full; /* names as long as they are */
	bool own;  /* with what a function is responsible for */
};

/* Branches with guides.  A line without figures has those of the line above it: the only child of
 * that. */
void tree_text_branches(struct buf *out, const struct tree_text *how, const struct tree *t);
/* Functions (or lines, or modules) with what they and what is below them weigh. */
void tree_text_functions(struct buf *out, const struct tree_text *how,
			 const struct answer_functions *f);
/* The same line by line. */
void tree_text_heading(struct buf *out, const struct tree_text *how);
void tree_text_function(struct buf *out, const struct tree_text *how, const struct tree *t,
			const struct function_total *row);
