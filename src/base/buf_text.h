/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Text written into bytes that grow, at their end.  See buf.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

void buf_text(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_repeat(struct buf *b, char c, size_t count);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args);
/* A number; for loops, in which printf would be most of the time. */
void buf_decimal(struct buf *b, uint64_t value);
void buf_hexadecimal(struct buf *b, uint64_t value);
/* Adds bytes as hexadecimal digits; none make an empty text. */
void buf_hex(struct buf *b, const void *bytes, size_t size);
/* The same as base64, with = at the end where it needs it. */
void buf_base64(struct buf *b, const void *bytes, size_t size);
/* Adds text from elsewhere for a terminal: control characters become '?'. */
void buf_printable(struct buf *b, const char *text, size_t size);
/* Columns that a UTF-8 text takes on a terminal: code points, as nearly all are one wide. */
size_t text_columns(const char *text);
/* Goes on at a column: in the next line if what was added from `start` on leaves no room for it. */
void text_column(struct buf *out, size_t start, size_t column);
/* Adds a text in lines that end before `width` and go on at `column`, where the cursor is. */
void text_wrap(struct buf *out, const char *text, size_t column, size_t width);
