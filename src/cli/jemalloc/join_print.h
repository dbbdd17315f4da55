/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A heap dump joined with statistics, as tables for the terminal. */
#include "base/term.h"
#include "heap/join.h"

struct buf;

/* `top` stacks and classes at most, ten for UINT64_MAX; `full`: every frame of a stack. */
void join_print(struct buf *out, const struct term *term, const struct join *j, uint64_t top,
		bool full);
