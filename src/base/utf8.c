/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* UTF-8.  See utf8.h. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"

size_t utf8_sequence(const unsigned char *s, size_t left)
{
	size_t n;
	uint32_t v;

	if (*s < 0x80)
		return 1;
	if (*s >= 0xc2 && *s <= 0xdf)
		n = 2, v = *s & 0x1f;
	else if ((*s & 0xf0) == 0xe0)
		n = 3, v = *s & 0x0f;
	else if (*s >= 0xf0 && *s <= 0xf4)
		n = 4, v = *s & 0x07;
	else
		return 0;
	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && (v < 0x800 || (v >= 0xd800 && v < 0xe000))) ||
	    (n == 4 && (v < 0x10000 || v > 0x10ffff)))
		return 0;
	return n;
}

void utf8_add(struct buf *out, const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + size;

	while (s < end) {
		const unsigned char *good = s;
		size_t n = 0;

		while (s < end && (n = utf8_sequence(s, (size_t)(end - s))))
			s += n;
		if (s > good)
			buf_add(out, good, (size_t)(s - good));
		if (s < end) {
			buf_text(out, "\xef\xbf\xbd");
			s++;
		}
	}
}

char *utf8_copy(const char *text)
{
	struct buf b = { 0 };

	buf_reserve(&b, 1);
	b.data[0] = 0;
	utf8_add(&b, text, strlen(text));
	return b.data;
}
