/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers for people.  Each function writes into `out` and returns it; size_text() and its like
 * have a place of their own, which is there until the block ends that they are called in. */
#include <stddef.h>
#include <stdint.h>

struct human {
	char text[48];
};

/* 1,234,567 */
const char *human_count(struct human *out, uint64_t value);
/* 17 B, 1.50 KiB, 12.3 MiB: three digits */
const char *human_size(struct human *out, uint64_t bytes);
/* The same of what may be below 0: -1,234 and -1.50 KiB. */
const char *human_signed_count(struct human *out, int64_t value);
const char *human_signed_size(struct human *out, int64_t bytes);
/* 950 ns, 12.3 ms, 4.56 s, 3 min 02 s, 2 h 05 min */
const char *human_duration(struct human *out, uint64_t ns);
/* 12.3 %, <0.1 %, of `whole` */
const char *human_share(struct human *out, uint64_t part, uint64_t whole);
/* 2026-02-03 14:05:06, local time */
const char *human_time(struct human *out, int64_t unix_seconds);

#define HUMAN_PLACE (&(struct human){ "" })
#define count_text(value) human_count(HUMAN_PLACE, value)
#define size_text(bytes) human_size(HUMAN_PLACE, bytes)
#define signed_count_text(value) human_signed_count(HUMAN_PLACE, value)
#define signed_size_text(bytes) human_signed_size(HUMAN_PLACE, bytes)
#define duration_text(ns) human_duration(HUMAN_PLACE, ns)
#define share_text(part, whole) human_share(HUMAN_PLACE, part, whole)
#define time_text(unix_seconds) human_time(HUMAN_PLACE, unix_seconds)
