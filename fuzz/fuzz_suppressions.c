/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Suppressions of any bytes, and names of any bytes that they are looked for in: an error names the
 * line, and a pattern without signs is what strstr() finds. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "check/suppressions.h"
#include "fuzz.h"

static void compare(const struct suppressions *s, const char *text)
{
	for (size_t i = 0; i < s->count; i++) {
		struct suppressions one = { .patterns = &s->patterns[i], .count = 1 };

		if (!strpbrk(s->patterns[i], "^$*") &&
		    suppressions_match(&one, text) != (*text && strstr(text, s->patterns[i])))
			abort();
		suppressions_match(&one, s->patterns[i]);
	}
}

FUZZ(suppressions, data, size)
{
	struct err err = { .text = "", .offset = ERR_NO_OFFSET };
	char *text = xmemdup0(data, size);
	struct suppressions s = { 0 };

	if (suppressions_read(&s, text, size, &err) && (!*err.text || err.offset > size))
		abort();
	compare(&s, text);
	suppressions_release(&s);
	free(text);
	return 0;
}
