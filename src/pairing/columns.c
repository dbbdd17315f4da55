/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The columns' memory.  See columns.h. */
#include "pairing/columns.h"

#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "pairing/columns_file.h"

#define ROWS_FIRST 4096u

static void grow_in_memory(struct columns *c)
{
	uint32_t room = c->room ? c->room * 2 : ROWS_FIRST;

	if (room > COLUMNS_MAX || room < c->room)
		room = COLUMNS_MAX + 1;
#define X(type, name)                                                                              \
	c->plain.name = pages_grow(c->plain.name, (size_t)c->room * sizeof(type),                  \
				   (size_t)room * sizeof(type));
	COLUMNS(X)
#undef X
	c->room = room;
}

/* The file is full: back into memory, and may it be enough. */
static void back_to_memory(struct columns *c)
{
	struct columns old = *c;

	c->file = NULL;
	c->room = 0;
#define X(type, name) c->plain.name = NULL;
	COLUMNS(X)
#undef X
	while (c->room < old.count)
		grow_in_memory(c);
#define X(type, name)                                                                              \
	if (old.count)                                                                             \
		memcpy(c->plain.name, old.plain.name, (size_t)old.count * sizeof(type));
	COLUMNS(X)
#undef X
	columns_unmap(&old);
}

static void spill(struct columns *c)
{
	int fd = c->spill(c->spill_context);

	c->spill = NULL;
	if (fd >= 0 && columns_to_file(c, fd) < 0)
		close(fd);
}

void columns_grow(struct columns *c)
{
	if (c->spill && c->room >= c->spill_at)
		spill(c);
	if (c->file && c->count < c->room)
		return;
	if (c->file && columns_grow_file(c) == 0)
		return;
	if (c->file)
		back_to_memory(c);
	if (c->count == c->room)
		grow_in_memory(c);
}

static inline const struct packed_piece *piece_of(const struct columns *c, uint32_t row,
						  enum packed_column column)
{
	const struct row_groups *g = &c->packed->groups;

	return &g->groups[row >> g->bits].pieces[column];
}

static inline uint32_t place_of(const struct columns *c, uint32_t row)
{
	return row & ((1u << c->packed->groups.bits) - 1);
}

#define NUMBER(column)                                                                             \
	packed_number(c->packed->groups.bytes, piece_of(c, row, PACKED_##column), place_of(c, row))
#define WORD(column)                                                                               \
	packed_word(c->packed->groups.bytes, piece_of(c, row, PACKED_##column), place_of(c, row))

uint64_t columns_packed_allocated_at(const struct columns *c, uint32_t row)
{
	return NUMBER(ALLOCATED_AT);
}

uint64_t columns_packed_freed_at(const struct columns *c, uint32_t row)
{
	uint64_t lifetime = NUMBER(LIFETIME);

	return lifetime ? NUMBER(ALLOCATED_AT) + lifetime : NEVER;
}

uint64_t columns_packed_address(const struct columns *c, uint32_t row)
{
	return NUMBER(ADDRESS);
}

uint64_t columns_packed_sizes(const struct columns *c, uint32_t row)
{
	return NUMBER(SIZE) | NUMBER(SLACK) << 48;
}

uint64_t columns_packed_tags(const struct columns *c, uint32_t row)
{
	return tags_join(WORD(MADE), WORD(ENDED));
}

uint32_t columns_packed_stack(const struct columns *c, uint32_t row)
{
	return (uint32_t)NUMBER(STACK);
}

uint32_t columns_packed_free_stack(const struct columns *c, uint32_t row)
{
	return (uint32_t)NUMBER(FREE_STACK);
}

uint32_t columns_packed_previous(const struct columns *c, uint32_t row)
{
	uint32_t before = (uint32_t)NUMBER(PREVIOUS);

	return before ? row - before : NO_ALLOCATION;
}

uint32_t columns_packed_chain(const struct columns *c, uint32_t row)
{
	return (uint32_t)NUMBER(CHAIN) - 1;
}

uint32_t columns_packed_position(const struct columns *c, uint32_t row)
{
	return (uint32_t)NUMBER(POSITION);
}

static void release_packed(struct columns *c)
{
	struct columns_packed *p = c->packed;

	pages_free((void *)p->groups.bytes, p->bytes_size);
	pages_free((void *)p->groups.groups, p->groups_size);
	free(p);
	if (c->file)
		close(c->file->fd);
	free(c->file);
}

void columns_release(struct columns *c)
{
	if (c->packed) {
		release_packed(c);
	} else if (c->file) {
		columns_unmap(c);
	} else {
#define X(type, name) pages_free(c->plain.name, (size_t)c->room * sizeof(type));
		COLUMNS(X)
#undef X
	}
	map_release(&c->large_slacks);
	memset(c, 0, sizeof(*c));
}

size_t columns_row_size(void)
{
#define X(type, name) +sizeof(type)
	return 0 COLUMNS(X);
#undef X
}

uint32_t columns_slack(const struct columns *c, uint32_t row)
{
	uint64_t slack = columns_sizes(c, row) >> 48;

	if (slack == SLACK_LARGE)
		map_get(&c->large_slacks, row, &slack);
	return (uint32_t)slack;
}

void columns_set_size(struct columns *c, uint32_t row, uint64_t size, uint32_t slack)
{
	/* So much is left over in few blocks, and large ones. */
	if (slack >= SLACK_LARGE) {
		map_set(&c->large_slacks, row, slack);
		slack = SLACK_LARGE;
	}
	c->plain.sizes[row] = size | (uint64_t)slack << 48;
}
