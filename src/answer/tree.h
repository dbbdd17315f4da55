/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question tree answers: a struct tree.  Any thread. */
#include "answer/question.h"
#include "query/tree.h"

extern const struct question question_tree;

#define TREE_PARAMS(measure)                                                                       \
	PARAMS_MEASURE(measure), PARAM_WEIGHT,                                                     \
		{ "direction", PARAM_CHOICE, "down",                                               \
		  "down: from where threads start; up: from the innermost functions",              \
		  .values = "down|up" },                                                           \
		{ "by",                                                                            \
		  PARAM_CHOICE,                                                                    \
		  "function",                                                                      \
		  "what a node is",                                                                \
		  .values = "function|line|module",                                                \
		  .letter = 'b' },                                                                 \
		{ "threads", PARAM_BOOL, "false", "the first level are threads", .letter = 't' },  \
		{ "min_share", PARAM_REAL, "0",                                                    \
		  "percent of the whole; what is lighter is put together", .letter = 's' },        \
		{ "depth", PARAM_COUNT, "0", "levels at most; 0: all" },                           \
	{                                                                                          \
		"children", PARAM_COUNT, "0", "branches of a node at most; 0: all"                 \
	}

int tree_compute(struct ask *a, void *answer);
/* Nodes in each other, each an object with "children"; `write` writes what else there is of one. */
int tree_write_nodes(const struct tree *t, const char *key, struct json *j, struct sink *out,
		     void (*write)(struct json *j, const struct tree *t,
				   const struct tree_node *n));
/* "name", and "function", "file", "line", "module", "address" where they are known. */
void tree_json_name(struct json *j, const struct tree *t, uint32_t name);
