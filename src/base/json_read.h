/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* JSON, read one value after the other out of memory, without a tree: the caller knows what comes,
 * and skips what it does not know.
 *
 *	json_read_object(&r);
 *	while (json_read_key(&r, &key))
 *		if (!strcmp(key.data, "size"))
 *			json_read_number(&r, &size);
 *		else
 *			json_skip(&r);
 *	if (!json_read_end(&r))
 *		return -EBADMSG;
 *
 * What is wrong is said once, in err, with its offset; from then on everything returns false, so
 * that loops end. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;

struct json_reader {
	const char *begin, *at, *end;
	struct err *err;
	bool failed;
	bool fresh; /* nothing was read of the innermost object or array */
	unsigned depth;
};

void json_reader_init(struct json_reader *r, const void *bytes, size_t size, struct err *err);
/* Says what is wrong at the place that was read last; false. */
bool json_wrong(struct json_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* An object begins; then its keys, each with a value behind it, until there is none. */
bool json_read_object(struct json_reader *r);
bool json_read_key(struct json_reader *r, struct buf *key);
/* An array begins; then there is an element, or none any more. */
bool json_read_array(struct json_reader *r);
bool json_read_element(struct json_reader *r);

/* A whole number that is not negative and has room. */
bool json_read_number(struct json_reader *r, uint64_t *ret);
bool json_read_bool(struct json_reader *r, bool *ret);
/* A text, in UTF-8 and with a NUL behind it; one that has a NUL inside is wrong. */
bool json_read_text(struct json_reader *r, struct buf *text);
/* Any value. */
bool json_skip(struct json_reader *r);
/* Nothing but blanks follow, and all was right until here. */
bool json_read_end(struct json_reader *r);
