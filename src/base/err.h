/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What went wrong, for a message that somebody else prints.
 *
 * Library folders return -errno and fill one of these; cli/ and its like print it, once. */
#include <stdint.h>

#define ERR_NO_OFFSET UINT64_MAX

struct err {
	char text[240];	 /* without a newline or a full stop */
	uint64_t offset; /* in the file that was read, or ERR_NO_OFFSET */
};

/* Fills err (which may be NULL) and returns `code`, so that a parser can `return err_at(...)`. */
int err_at(struct err *err, int code, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
