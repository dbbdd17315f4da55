/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks over stacks.  See nested.h. */
#include "query/nested.h"

#include "base/xalloc.h"
#include "model/stats.h"

/* By node; 0: none. */
struct family {
	uint32_t first_callee, next;
};

static uint32_t caller_of(const struct nodes *nodes, uint32_t node)
{
	uint32_t parent = nodes->parent[node];

	return node_is_known(nodes, parent) ? parent : 0;
}

/* [0] has the outermost ones. */
static struct family *families(const struct nodes *nodes)
{
	struct family *of = xcalloc((size_t)nodes->count + 1, sizeof(*of));

	for (uint32_t i = nodes->count; i-- > 1;) {
		uint32_t parent;

		if (!node_is_known(nodes, i))
			continue;
		parent = caller_of(nodes, i);
		of[i].next = of[parent].first_callee;
		of[parent].first_callee = i;
	}
	return of;
}

void nested_walk(const struct nodes *nodes, const struct nested_visitor *v)
{
	auto_free struct family *of = families(nodes);
	uint32_t node = of[0].first_callee;

	while (node) {
		v->enter(v->context, node);
		if (of[node].first_callee) {
			node = of[node].first_callee;
			continue;
		}
		v->leave(v->context, node);
		while (node && !of[node].next) {
			node = caller_of(nodes, node);
			if (node)
				v->leave(v->context, node);
		}
		if (node)
			node = of[node].next;
	}
}
