/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Suppressions.  See suppressions.h. */
#include "check/suppressions.h"

#include <errno.h>
#include <string.h>

#include "base/xalloc.h"

#define KIND "leak:"
#define PATTERN_MAX 4096 /* bytes */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int suppressions_read(struct suppressions *s, const char *text, size_t size, struct err *err)
{
	const char *end = text + size;

	for (unsigned line = 1; text < end; line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text)), *p = text, *last;

		stop = stop ? stop : end;
		for (last = stop; last > p && is_blank(last[-1]); last--)
			;
		while (p < last && is_blank(*p))
			p++;
		if (p < last && *p != '#') {
			size_t length = (size_t)(last - p), kind = strlen(KIND);

			if (length <= kind || memcmp(p, KIND, kind) != 0 || memchr(p, 0, length))
				return err_at(err, -EINVAL, (uint64_t)(size - (size_t)(end - text)),
					      "line %u: 'leak:' and a pattern are expected", line);
			if (length > PATTERN_MAX)
				return err_at(err, -EINVAL, (uint64_t)(size - (size_t)(end - text)),
					      "line %u: a pattern has at most %d bytes", line,
					      PATTERN_MAX);
			*xpush(s->patterns, s->count, s->room) = xmemdup0(p + kind, length - kind);
		}
		text = stop + 1;
	}
	return 0;
}

void suppressions_release(struct suppressions *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->patterns[i]);
	free(s->patterns);
	*s = (struct suppressions){ 0 };
}

/* Pieces between stars are found from left to right, each as early as possible; the last one, if it
 * has to end the text, at its end. */
static bool fits(const char *pattern, const char *text)
{
	size_t size = strlen(pattern);
	bool at_start = *pattern == '^', at_end;

	pattern += at_start;
	size -= at_start;
	at_end = size && pattern[size - 1] == '$';
	size -= at_end;
	for (;;) {
		const char *star = memchr(pattern, '*', size);
		size_t piece = star ? (size_t)(star - pattern) : size, left = strlen(text);
		const char *found = text;

		if (at_start)
			found = left >= piece && !memcmp(text, pattern, piece) ? text : NULL;
		else if (!star && at_end)
			found = left >= piece ? text + left - piece : NULL;
		else if (piece)
			found = memmem(text, left, pattern, piece);
		if (!found || memcmp(found, pattern, piece) != 0)
			return false;
		text = found + piece;
		if (!star)
			return !at_end || !*text;
		pattern = star + 1;
		size -= piece + 1;
		at_start = false;
	}
}

bool suppressions_match(const struct suppressions *s, const char *text)
{
	for (size_t i = 0; *text && i < s->count; i++)
		if (fits(s->patterns[i], text))
			return true;
	return false;
}
