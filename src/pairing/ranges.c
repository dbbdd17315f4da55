/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranges as a treap: a search tree by start that is a heap by random numbers, so that it is
 * balanced whatever comes.  See ranges.h. */
#include "pairing/ranges.h"

#include <string.h>

#include "base/xalloc.h"

struct range_node {
	struct range range;
	uint32_t left, right, rank;
};

bool ranges_from(const struct ranges *r, uint64_t address, struct range *ret_range)
{
	uint32_t at = r->root, found = 0;

	/* They do not overlap, so their ends are in the same order as their starts. */
	while (at) {
		if (r->nodes[at].range.end > address) {
			found = at;
			at = r->nodes[at].left;
		} else {
			at = r->nodes[at].right;
		}
	}
	if (found)
		*ret_range = r->nodes[found].range;
	return found != 0;
}

static uint32_t new_node(struct ranges *r)
{
	uint32_t at = r->unused;

	if (at) {
		r->unused = r->nodes[at].left;
		return at;
	}
	if (!r->count)
		r->count = 1;
	while (r->count >= r->room)
		r->nodes = xgrow(r->nodes, r->room, &r->room, sizeof(*r->nodes));
	return r->count++;
}

/* What starts before `start` becomes *left, the rest *right. */
static void split(struct ranges *r, uint32_t at, uint64_t start, uint32_t *left, uint32_t *right)
{
	uint32_t inner;

	if (!at) {
		*left = *right = 0;
	} else if (r->nodes[at].range.start < start) {
		split(r, r->nodes[at].right, start, &inner, right);
		r->nodes[at].right = inner;
		*left = at;
	} else {
		split(r, r->nodes[at].left, start, left, &inner);
		r->nodes[at].left = inner;
		*right = at;
	}
}

static uint32_t join(struct ranges *r, uint32_t left, uint32_t right)
{
	uint32_t inner;

	if (!left || !right)
		return left ? left : right;
	if (r->nodes[left].rank > r->nodes[right].rank) {
		inner = join(r, r->nodes[left].right, right);
		r->nodes[left].right = inner;
		return left;
	}
	inner = join(r, left, r->nodes[right].left);
	r->nodes[right].left = inner;
	return right;
}

void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t value)
{
	uint32_t at, left, right;

	if (start >= end)
		return;
	at = new_node(r);
	r->seed = r->seed * 6364136223846793005ull + 1442695040888963407ull;
	r->nodes[at] =
		(struct range_node){ { start, end, value }, 0, 0, (uint32_t)(r->seed >> 32) };
	split(r, r->root, start, &left, &right);
	r->root = join(r, join(r, left, at), right);
}

void ranges_remove(struct ranges *r, uint64_t start)
{
	uint32_t left, middle, right;

	if (!r->root)
		return;
	split(r, r->root, start, &left, &right);
	split(r, right, start + 1, &middle, &right);
	if (middle) {
		r->nodes[middle].left = r->unused;
		r->unused = middle;
	}
	r->root = join(r, left, right);
}

void ranges_cut(struct ranges *r, uint64_t start, uint64_t end)
{
	struct range at;

	while (start < end && ranges_from(r, start, &at) && at.start < end) {
		ranges_remove(r, at.start);
		if (at.start < start)
			ranges_add(r, at.start, start, at.value);
		if (at.end > end)
			ranges_add(r, end, at.end, at.value);
		start = at.end;
	}
}

void ranges_release(struct ranges *r)
{
	free(r->nodes);
	memset(r, 0, sizeof(*r));
}
