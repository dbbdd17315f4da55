/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Heap profile dumps in the order in which they were written.
 *
 * jemalloc numbers them: PREFIX.PID.NUMBER.KINDn.heap.  If all are called so, those of one process
 * are ordered by number, and processes by their oldest file; otherwise all are ordered by when they
 * were written.  What is equal stays as it was given. */
#include <stdbool.h>
#include <stddef.h>

/* Orders the paths; true: by their names. */
bool dump_order(const char **paths, size_t count);
