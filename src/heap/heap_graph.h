/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The graph of calls of a profile, within the limits of a report: a box for each function that
 * holds enough, an arrow for what passes from caller to callee. */
#include <stddef.h>
#include <stdint.h>

#include "heap/report.h"
#include "heap/top.h"

struct heap_edge {
	uint32_t caller, callee; /* boxes */
	double amount;
	size_t stack; /* it was counted for last, plus one: recursion counts once */
};

struct heap_graph {
	struct top top; /* the first `nodes` are boxes, the largest first */
	size_t nodes;
	size_t functions;	  /* that there are in all */
	struct heap_edge *edges;  /* the strongest first */
	size_t edge_count, calls; /* calls: pairs of boxes in all */
	double total;
};

void heap_graph_init(struct heap_graph *g, const struct profile *p,
		     const struct heap_report_options *o);
void heap_graph_release(struct heap_graph *g);
