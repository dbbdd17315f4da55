/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Verdicts on a whole recording, kept beside its cache: they take longest of all that is asked
 * first, and depend on nothing but the recording, names and rules.  Any thread. */
#include "query/verdict.h"

/* verdicts_init_both() of a view of everything, or what that was the last time. */
void verdict_cache_both(struct verdicts *leaked, struct verdicts *held, const struct view *v);

/* For tests: what is kept, and reading it: false where it is not to be used. */
void verdict_cache_pack(struct buf *out, const struct verdicts both[2], const struct view *v);
bool verdict_cache_unpack(const void *bytes, size_t size, struct verdicts ret_both[2],
			  const struct view *v);
