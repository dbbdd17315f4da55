/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Bytes that grow: text being put together, or a file's content.  A zeroed one is empty. */
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* ends with a NUL that is not counted, once anything was added */
	size_t size, room;
};

void buf_release(struct buf *b);
void buf_clear(struct buf *b);
/* Makes room for `more` bytes behind what is there. */
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *bytes, size_t size);
void buf_text(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_repeat(struct buf *b, char c, size_t count);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
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
/* Adds a text in lines that end before `width` and go on at `column`, where the cursor is. */
void text_wrap(struct buf *out, const char *text, size_t column, size_t width);
/* The last part of a path; "" stays "". */
const char *path_base(const char *path);
/* Writes everything to a descriptor and clears; 0 or -errno.  What goes to a terminal, or is a
 * message on standard error, is made harmless: see harmless.h. */
int buf_flush(struct buf *b, int fd);
/* Writes all bytes as they are: 0 or -errno. */
int buf_write(const struct buf *b, int fd);
