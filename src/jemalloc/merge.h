/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The sum of all arenas where it was not printed (option m, or text of one that had it left out).
 */
#include "jemalloc/stats.h"

/* What stats_whole() gives; with several arenas and no merged one, that is made first, as arena
 * STATS_MERGED, and s->merged_made is set.  NULL where no arena was printed. */
const struct stats_arena *stats_merge(struct stats *s);
