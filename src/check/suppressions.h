/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Leaks that somebody knows of: a file in LeakSanitizer's format.
 *
 *	# a comment
 *	leak:libfontconfig.so
 *	leak:^my_init$
 *
 * A pattern is looked for in every function, source file and module of a leak's stack: anywhere in
 * it, unless it begins with ^ or ends with $; a * stands for any text.  One thread at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct suppressions {
	char **patterns;
	size_t count, room;
};

/* Adds those of a text: 0, or -EINVAL with err, whose offset is the line's. */
int suppressions_read(struct suppressions *s, const char *text, size_t size, struct err *err);
void suppressions_release(struct suppressions *s);
/* Does any of them fit? */
bool suppressions_match(const struct suppressions *s, const char *text);
