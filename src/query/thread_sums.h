/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What each thread of a view allocated, kept and left to others.  Any thread. */
#include "query/view.h"

#define THREAD_NUMBERS(X)                                                                          \
	X(allocated_bytes)                                                                         \
	X(allocated_count)                                                                         \
	X(leaked_bytes)                                                                            \
	X(leaked_count)                                                                            \
	X(peak_bytes)                                                                              \
	X(peak_count)                                                                              \
	X(temporary_bytes)                                                                         \
	X(temporary_count)                                                                         \
	X(freed_by_other_bytes)                                                                    \
	X(freed_by_other_count)                                                                    \
	X(first_ns)                                                                                \
	X(last_ns)

struct thread_sums {
#define X(name) uint64_t name;
	THREAD_NUMBERS(X)
#undef X
};

/* By thread of the model; the caller frees it. */
struct thread_sums *thread_sums(const struct view *v);
