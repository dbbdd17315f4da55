/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The columns' memory.  See columns.h. */
#include "pairing/columns.h"

#include <string.h>

#include "base/xalloc.h"

#define ROWS_FIRST 4096u

void columns_grow(struct columns *c)
{
	uint32_t room = c->room ? c->room * 2 : ROWS_FIRST;

	if (room > COLUMNS_MAX || room < c->room)
		room = COLUMNS_MAX + 1;
#define X(type, name) c->name = pages_grow(c->name, c->room * sizeof(type), room * sizeof(type));
	COLUMNS(X)
#undef X
	c->room = room;
}

void columns_release(struct columns *c)
{
#define X(type, name) pages_free(c->name, c->room * sizeof(type));
	COLUMNS(X)
#undef X
	map_release(&c->large_slacks);
	memset(c, 0, sizeof(*c));
}

uint32_t columns_slack(const struct columns *c, uint32_t row)
{
	uint64_t slack = c->sizes[row] >> 48;

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
	c->sizes[row] = size | (uint64_t)slack << 48;
}
