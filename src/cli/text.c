/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that fit.  See text.h. */
#include "cli/text.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"

void text_shortened(struct buf *out, const char *text, size_t room)
{
	const char *p = text;

	if (text_columns(text) <= room) {
		buf_printable(out, text, strlen(text));
		return;
	}
	for (size_t n = 0; n + 1 < room && *p; n++) {
		p++;
		while (((unsigned char)*p & 0xc0) == 0x80)
			p++;
	}
	buf_printable(out, text, (size_t)(p - text));
	buf_text(out, "\xe2\x80\xa6");
}

/* What a bracket that opens at p leads to: behind the one that closes it, or NULL. */
static const char *behind_bracket(const char *p)
{
	int depth = 0;

	for (; *p; p++) {
		bool arrow = *p == '>' && p[-1] == '-';

		if (*p == '<' || *p == '(' || *p == '[' || *p == '{')
			depth++;
		else if ((*p == '>' && !arrow) || *p == ')' || *p == ']' || *p == '}')
			depth--;
		if (!depth)
			return p + 1;
	}
	return NULL;
}

char *text_abbreviated(const char *name)
{
	static const char operator_text[] = "operator";
	const size_t operator_size = sizeof(operator_text) - 1;
	struct buf out = { 0 };

	while (*name) {
		const char *end;

		if (!strncmp(name, operator_text, operator_size)) {
			size_t n = operator_size + strspn(name + operator_size, "<>=-");

			buf_add(&out, name, n);
			name += n;
			continue;
		}
		/* What a name begins with is no argument list: <lambda>, <T as Trait>::f. */
		end = (*name == '<' || *name == '(') && out.size ? behind_bracket(name) : NULL;
		if (end && end > name + 2 && strncmp(name, "(anonymous", 10) != 0) {
			buf_char(&out, *name);
			buf_text(&out, "\xe2\x80\xa6");
			buf_char(&out, end[-1]);
			name = end;
			continue;
		}
		buf_char(&out, *name++);
	}
	return out.data ? out.data : xstrdup("");
}
