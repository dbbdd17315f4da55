/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs of the trie of stacks.  See spines.h.
 *
 * Parents have smaller numbers than what they call, so one pass backwards and one forwards do. */
#include "query/spines.h"

#include <string.h>

#include "base/xalloc.h"
#include "model/stats.h"

/* Which nodes are in it: depths, and parents that are 0 where what is outside is not known. */
static void choose(struct spines *s, const struct nodes *n, const uint8_t *wanted)
{
	/* Innermost first, so that what is outside of a wanted one is too. */
	if (wanted)
		for (uint32_t i = n->count; i-- > 1;)
			if (node_is_known(n, i) && (wanted[i] || s->of[i].depth)) {
				s->of[i].depth = 1;
				s->of[n->parent[i]].depth = 1;
			}
	s->of[0].depth = 0;
	for (uint32_t i = 1; i < n->count; i++) {
		uint32_t parent = n->parent[i];

		if (!node_is_known(n, i) || (wanted && !s->of[i].depth)) {
			s->of[i].depth = 0;
			continue;
		}
		s->of[i].parent = node_is_known(n, parent) ? parent : 0;
		s->of[i].depth = s->of[s->of[i].parent].depth + 1;
		s->deepest = s->of[i].depth > s->deepest ? s->of[i].depth : s->deepest;
		s->count++;
	}
}

void spines_init(struct spines *s, const struct nodes *n, const uint8_t *wanted)
{
	uint32_t *size = xcalloc(n->count + 1, sizeof(*size));	 /* of what is inside */
	uint32_t *heavy = xcalloc(n->count + 1, sizeof(*heavy)); /* what the run goes on to */
	uint32_t next = 0;

	*s = (struct spines){ .of = xcalloc(n->count + 1, sizeof(*s->of)), .node_count = n->count };
	choose(s, n, wanted);
	s->order = xcalloc(s->count + 1, sizeof(*s->order));
	for (uint32_t i = n->count; i-- > 1;) {
		uint32_t parent = s->of[i].parent;

		if (!s->of[i].depth)
			continue;
		size[i]++;
		if (!parent)
			continue;
		size[parent] += size[i];
		if (size[i] > size[heavy[parent]])
			heavy[parent] = i;
	}
	for (uint32_t i = 1; i < n->count; i++) {
		uint32_t parent = s->of[i].parent;

		if (!s->of[i].depth || (parent && heavy[parent] == i))
			continue;
		for (uint32_t node = i; node; node = heavy[node]) {
			s->of[node].top = i;
			s->of[node].place = next;
			s->order[next++] = node;
		}
	}
	free(size);
	free(heavy);
}

void spines_release(struct spines *s)
{
	free(s->of);
	free(s->order);
	memset(s, 0, sizeof(*s));
}

unsigned spines_runs(const struct spines *s, uint32_t node, uint32_t outside,
		     struct spine_run runs[SPINES_RUNS])
{
	unsigned count = 0;

	while (s->of[node].depth > outside) {
		const struct spine *last = &s->of[node], *top = &s->of[last->top];
		uint32_t skip = top->depth > outside ? 0 : outside + 1 - top->depth;

		runs[count++] = (struct spine_run){ top->place + skip,
						    last->place - top->place + 1 - skip };
		node = top->parent;
	}
	for (unsigned i = 0; i < count / 2; i++) {
		struct spine_run swap = runs[i];

		runs[i] = runs[count - 1 - i];
		runs[count - 1 - i] = swap;
	}
	return count;
}
