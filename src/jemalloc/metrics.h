/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A snapshot as metrics, in the text format that Prometheus reads.
 *
 * Numbers of the process, of each arena, and of each size class and mutex of all arenas together.
 * Names follow the conventions there: bytes and seconds as units, _total for what only grows. */
#include "jemalloc/stats.h"

struct buf;

void metrics_write(struct buf *out, struct stats *s);
