/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the bytes of a recording are spent on. */
#include <stdint.h>

#include "rewrite/source.h"
#include "wire/codec.h"

struct sizes_row {
	uint64_t count;	 /* chunks, values or events */
	uint64_t stored; /* bytes in the file; of a column or an op: its likely share */
	uint64_t raw;	 /* bytes before compression */
};

#define SIZES_OPS 16 /* an op has four bits to grow */

struct sizes {
	struct sizes_row types[256];		/* by chunk type; headers of chunks are in stored */
	struct sizes_row columns[COLUMN_COUNT]; /* of all chunks of events */
	struct sizes_row ops[SIZES_OPS];
	uint64_t file_bytes, rest_bytes; /* the whole file; of it what is in no good chunk */
	struct loss loss;
};

/* Reads everything. */
void sizes_measure(struct sizes *z, struct source *s);
/* "EVENTS"; NULL for a type that has no name. */
const char *sizes_type_name(unsigned type);
const char *sizes_column_name(unsigned column);
const char *sizes_op_name(unsigned op);
