/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* RowBinary.  See rows.h. */
#include "fleet/rows.h"

#include <string.h>

#include "base/buf.h"

void rows_put_u8(struct buf *out, uint8_t value)
{
	buf_add(out, &value, sizeof(value));
}

void rows_put_u16(struct buf *out, uint16_t value)
{
	buf_add(out, &value, sizeof(value));
}

void rows_put_u32(struct buf *out, uint32_t value)
{
	buf_add(out, &value, sizeof(value));
}

void rows_put_u64(struct buf *out, uint64_t value)
{
	buf_add(out, &value, sizeof(value));
}

void rows_put_real(struct buf *out, double value)
{
	buf_add(out, &value, sizeof(value));
}

void rows_put_size(struct buf *out, uint64_t size)
{
	for (; size >= 0x80; size >>= 7)
		rows_put_u8(out, (uint8_t)(size | 0x80));
	rows_put_u8(out, (uint8_t)size);
}

void rows_put_text(struct buf *out, const char *text)
{
	size_t size = strlen(text);

	rows_put_size(out, size);
	buf_add(out, text, size);
}

const unsigned char *rows_take_bytes(struct rows *r, size_t size)
{
	const unsigned char *p = r->at;

	if (r->bad || (size_t)(r->end - r->at) < size) {
		r->bad = true;
		return NULL;
	}
	r->at += size;
	return p;
}

uint64_t rows_take(struct rows *r, unsigned bytes)
{
	const unsigned char *p = rows_take_bytes(r, bytes);
	uint64_t value = 0;

	if (p)
		memcpy(&value, p, bytes);
	return value;
}

double rows_take_real(struct rows *r)
{
	uint64_t bits = rows_take(r, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint64_t rows_take_size(struct rows *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = rows_take(r, 1);

		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return r->bad ? 0 : value;
	}
	r->bad = true;
	return 0;
}

size_t rows_take_text(struct rows *r, struct buf *out)
{
	uint64_t size = rows_take_size(r);
	const unsigned char *p =
		size > (uint64_t)(r->end - r->at) ? NULL : rows_take_bytes(r, size);
	size_t start = out->size;

	if (!p)
		r->bad = true;
	buf_add(out, p ? p : (const unsigned char *)"", p ? size : 0);
	buf_add(out, "", 1);
	return start;
}
