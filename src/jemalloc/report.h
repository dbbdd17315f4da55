/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Files of statistics as one page that needs nothing else. */
#include "jemalloc/history.h"

struct sink;

/* 0, or the sink's error. */
int report_write(struct sink *out, const struct history *files, size_t count);
