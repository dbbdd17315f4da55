/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The stacks of several recordings as one tree for flame graphs, below their processes.  Functions
 * are known by their names, since everything else is each recording's own. */
#include "base/strings.h"
#include "draw/flame_tree.h"
#include "export/export.h"

struct merged_flame {
	struct flame_tree tree; /* of one measure */
	struct strings names;	/* a function's number is its name's */
	unsigned processes;
};

void merged_flame_init(struct merged_flame *m);
void merged_flame_release(struct merged_flame *m);
/* Adds what x->measuring weighs, below x->process. */
void merged_flame_add(struct merged_flame *m, const struct export *x);
/* After the last one. */
struct flame_names merged_flame_names(struct merged_flame *m);
