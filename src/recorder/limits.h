/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Limits of the program's (setrlimit) that our memory counts for, too. */
#include "recorder/rt.h"

/* What a recording needs to be of use. */
#define LIMITS_LEAST (SHM_START_SIZE + SHM_NODE_SEGMENT_SIZE + (512u << 10))

/* How many bytes more may be mapped; SIZE_MAX: there is no limit. */
size_t limits_room(void) HIDDEN;
/* It was mapped, or unmapped where `size` is negative. */
void limits_taken(void *p, int64_t size) HIDDEN;
/* May so much be added to a file that ends there, without a signal? */
bool limits_file_may_grow(uint64_t end, size_t size) HIDDEN;
/* mlockall(), with our memory left out. */
int limits_lock_all(int flags) HIDDEN;
