/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the numbers of fields.def are of a row.
 *
 * Loops over millions of rows include the table with their own NUMBER(), so that each field is a
 * loop of its own; what asks for one at a time calls field_number().  Any thread. */
#include "model/model.h"
#include "query/filter.h"

/* The realloc chain of a row; of its own if there is none. */
static inline struct chain chain_of(const struct model *m, uint32_t row)
{
	uint32_t chain = columns_chain(&m->allocations, row);

	return chain == NO_CHAIN ? (struct chain){ row, row, 1 } : m->chains[chain];
}

/* From the allocation of a row to the end of another one. */
static inline uint64_t lifetime_ticks(const struct columns *c, const struct model_clock *clock,
				      uint32_t first, uint32_t last)
{
	uint64_t from = columns_allocated_at(c, first), freed = columns_freed_at(c, last),
		 to = freed == NEVER ? clock->end : freed;

	return to > from ? to - from : 0;
}

static inline uint64_t field_number(const struct model *m, const struct model_clock *clock,
				    enum row_number which, uint32_t row)
{
	const struct columns *c = &m->allocations;

	switch (which) {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help)                     \
	case ROW_##id:                                                                             \
		return value;
#include "query/fields.def"
#undef NUMBER
	}
	return 0;
}
