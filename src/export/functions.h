/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Functions by number, for formats that know a frame by its function and file.  What has no name is
 * known by its address.  One thread: the exporter's. */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "query/stacks.h"

struct functions_row {
	uint32_t function, file, module; /* as in struct stack_frame; of its first frame */
	uint32_t line;
	uint64_t address;
};

/* A zeroed one is empty. */
struct functions {
	struct functions_row *rows;
	size_t count, room;
	struct map named, unnamed;
};

/* The number of a frame's function, from 0 on. */
uint32_t functions_id(struct functions *f, const struct stack_frame *frame);
void functions_release(struct functions *f);
