/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packed rows as plain arrays.  See columns_window.h. */
#include "pairing/columns_window.h"

#include <string.h>

/* What a window is filled from: rows [from, from + count) of one group, from `to` on. */
struct part {
	const uint8_t *bytes;
	const struct row_group *group;
	uint32_t from, count, to;
};

#define NUMBERS(id, out)                                                                           \
	packed_numbers(p->bytes, &p->group->pieces[PACKED_##id], p->from, p->count, out)
#define NUMBERS32(id, out)                                                                         \
	packed_numbers32(p->bytes, &p->group->pieces[PACKED_##id], p->from, p->count, out)
#define WORDS(id, out)                                                                             \
	packed_words(p->bytes, &p->group->pieces[PACKED_##id], p->from, p->count, out)

static void unpack_times(struct columns_window *w, const struct part *p, bool too_freed)
{
	uint64_t *at = &w->allocated_at[p->to], *freed = &w->freed_at[p->to];

	NUMBERS(ALLOCATED_AT, at);
	if (!too_freed)
		return;
	NUMBERS(LIFETIME, freed);
	for (uint32_t i = 0; i < p->count; i++)
		freed[i] = freed[i] ? at[i] + freed[i] : NEVER;
}

static void unpack_sizes(struct columns_window *w, const struct part *p)
{
	uint64_t *sizes = &w->sizes[p->to];
	uint32_t slacks[WINDOW_ROWS];

	NUMBERS(SIZE, sizes);
	NUMBERS32(SLACK, slacks);
	for (uint32_t i = 0; i < p->count; i++)
		sizes[i] |= (uint64_t)slacks[i] << 48;
}

static void unpack_tags(struct columns_window *w, const struct part *p)
{
	uint32_t made[WINDOW_ROWS], ended[WINDOW_ROWS];
	uint64_t *tags = &w->tags[p->to];

	WORDS(MADE, made);
	WORDS(ENDED, ended);
	for (uint32_t i = 0; i < p->count; i++)
		tags[i] = tags_join(made[i], ended[i]);
}

static void unpack_previous(struct columns_window *w, const struct part *p, uint32_t first)
{
	const struct packed_piece *piece = &p->group->pieces[PACKED_PREVIOUS];
	uint32_t *previous = &w->previous[p->to];

	if (!piece->bits && !piece->base) {
		memset(previous, 0xff, p->count * sizeof(*previous)); /* NO_ALLOCATION */
		return;
	}
	NUMBERS32(PREVIOUS, previous);
	for (uint32_t i = 0; i < p->count; i++)
		previous[i] = previous[i] ? first + i - previous[i] : NO_ALLOCATION;
}

static void unpack_chain(struct columns_window *w, const struct part *p)
{
	uint32_t *chain = &w->chain[p->to];

	NUMBERS32(CHAIN, chain);
	for (uint32_t i = 0; i < p->count; i++)
		chain[i]--;
}

const struct columns *columns_window_unpack(struct columns_window *w, const struct columns *c,
					    uint32_t first, uint32_t count, unsigned wanted)
{
	const struct row_groups *g = &c->packed->groups;
	struct part part = { .bytes = g->bytes }, *p = &part;

	for (; p->to < count; p->to += p->count) {
		uint32_t row = first + p->to;

		p->group = &g->groups[row >> g->bits];
		p->from = row & ((1u << g->bits) - 1);
		p->count = MIN(count - p->to, p->group->rows - p->from);
		if (wanted & (WANT_allocated_at | WANT_freed_at))
			unpack_times(w, p, wanted & WANT_freed_at);
		if (wanted & WANT_address)
			NUMBERS(ADDRESS, &w->address[p->to]);
		if (wanted & WANT_sizes)
			unpack_sizes(w, p);
		if (wanted & WANT_tags)
			unpack_tags(w, p);
		if (wanted & WANT_stack)
			NUMBERS32(STACK, &w->stack[p->to]);
		if (wanted & WANT_free_stack)
			NUMBERS32(FREE_STACK, &w->free_stack[p->to]);
		if (wanted & WANT_previous)
			unpack_previous(w, p, row);
		if (wanted & WANT_chain)
			unpack_chain(w, p);
		if (wanted & WANT_position)
			NUMBERS32(POSITION, &w->position[p->to]);
	}
	/* An address of a row that is not there is never made into a pointer that is used. */
#define X(type, name)                                                                              \
	w->view.plain.name =                                                                       \
		wanted & WANT_##name ? (type *)((uintptr_t)w->name - first * sizeof(type)) : NULL;
	COLUMNS(X)
#undef X
	w->view.packed = NULL;
	w->view.count = c->count;
	w->view.large_slacks = c->large_slacks;
	return &w->view;
}

void columns_zone(const struct columns *c, enum packed_column column, uint32_t first,
		  uint32_t count, uint64_t *ret_low, uint64_t *ret_high)
{
	const struct row_groups *g = &c->packed->groups;

	*ret_low = UINT64_MAX;
	*ret_high = 0;
	for (uint32_t i = first >> g->bits; i <= (first + count - 1) >> g->bits; i++) {
		const struct packed_piece *p = &g->groups[i].pieces[column];

		*ret_low = MIN(*ret_low, p->low);
		*ret_high = MAX(*ret_high, p->high);
	}
}
