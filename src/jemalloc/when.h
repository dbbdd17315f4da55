/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The time that a line of a log says. */
#include <stddef.h>
#include <stdint.h>

#define WHEN_NONE INT64_MIN

/* The last time in `text`, in ns since 1970: 2026-11-15T20:25:01.123456Z with a blank for the T, a
 * comma for the point, an offset for the Z or none of them (UTC then), or Nov 15 2026 20:25:01.
 * WHEN_NONE where there is none. */
int64_t when_last(const char *text, size_t size);
/* 2026-11-15T20:25:01.123456Z; returns `room`. */
const char *when_text(int64_t time_ns, char room[40]);
