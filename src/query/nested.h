/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A walk over the trie of stacks in which every node is entered before its callees and left behind
 * them.
 *
 * For sums by function, place or line, in which a stack counts once however often it goes through
 * one: what lies below the outermost node of a name is exactly that.  A walk takes as long as there
 * are nodes; going outwards from every stack would take as long as there are stacks times how deep
 * they are.  Any thread; the visitor is called on the same one. */
#include <stdint.h>

#include "model/tables.h"

struct nested_visitor {
	void (*enter)(void *context, uint32_t node);
	void (*leave)(void *context, uint32_t node);
	void *context;
};

/* Every known node; callees in the order of their numbers. */
void nested_walk(const struct nodes *nodes, const struct nested_visitor *v);
