/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Heap profile dumps in the order in which they were written.
 *
 * jemalloc numbers them: PREFIX.PID.NUMBER.KINDn.heap.  If all are called so, those of one process
 * are ordered by number, and processes by their oldest file; otherwise all are ordered by when they
 * were written.  What is equal stays as it was given. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_order {
	const char *path;
	int64_t written_ns; /* since 1970; of a file that is not there: 0 */
	size_t prefix;	    /* bytes of the path that are before .PID */
	uint64_t pid, number;
	size_t given;	   /* its place on the command line */
	int64_t oldest_ns; /* of the same process's files */
};

/* Does the name say so?  Fills prefix, pid and number. */
bool dump_order_parse(struct dump_order *d, const char *path);
/* `ret` has `count` rows, in order; true: by their names. */
bool dump_order_make(struct dump_order *ret, char **paths, size_t count);
