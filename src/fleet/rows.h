/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* RowBinary: how rows go to the server and come back.  Numbers are little-endian, a text is its
 * length and its bytes, an array its length and its elements. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

void rows_put_u8(struct buf *out, uint8_t value);
void rows_put_u16(struct buf *out, uint16_t value);
void rows_put_u32(struct buf *out, uint32_t value);
void rows_put_u64(struct buf *out, uint64_t value);
void rows_put_real(struct buf *out, double value);
void rows_put_size(struct buf *out, uint64_t size); /* of an array */
void rows_put_text(struct buf *out, const char *text);

/* Reading: what is cut off or does not make sense sets `bad`, and everything after it is zero. */
struct rows {
	const unsigned char *at, *end;
	bool bad;
};

static inline bool rows_more(const struct rows *r)
{
	return !r->bad && r->at < r->end;
}
uint64_t rows_take(struct rows *r, unsigned bytes);
double rows_take_real(struct rows *r);
uint64_t rows_take_size(struct rows *r);
const unsigned char *rows_take_bytes(struct rows *r, size_t size);
/* Adds it and a NUL to a buf: where it begins there. */
size_t rows_take_text(struct rows *r, struct buf *out);
