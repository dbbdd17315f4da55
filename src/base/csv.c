/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lines of CSV.  See csv.h. */
#include "base/csv.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"

static void comma(struct buf *out)
{
	if (out->size && out->data[out->size - 1] != '\n')
		buf_char(out, ',');
}

void csv_cell(struct buf *out, const char *text)
{
	comma(out);
	if (*text && !text[strcspn(text, ",\"\r\n")]) {
		buf_text(out, text);
		return;
	}
	buf_char(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_char(out, '"');
		buf_char(out, *text);
	}
	buf_char(out, '"');
}

void csv_number(struct buf *out, unsigned long long value)
{
	comma(out);
	buf_printf(out, "%llu", value);
}

void csv_signed(struct buf *out, long long value)
{
	comma(out);
	buf_printf(out, "%lld", value);
}

void csv_empty(struct buf *out)
{
	buf_char(out, ',');
}

void csv_real(struct buf *out, double value, unsigned digits)
{
	comma(out);
	buf_printf(out, "%.*f", (int)digits, value);
}

void csv_end(struct buf *out)
{
	buf_char(out, '\n');
}
