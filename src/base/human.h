/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers for people.  Each function writes into `out` and returns it. */
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
