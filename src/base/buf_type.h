/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What bytes that grow look like, for what holds some, reads them and lets them go.  A zeroed one
 * is empty; buf.h fills them, buf_text.h writes text into them.  Whoever has a pointer that he
 * hands on needs no more than `struct buf;`. */
#include <stddef.h>

struct buf {
	char *data; /* ends with a NUL that is not counted, once anything was added */
	size_t size, room;
};

void buf_release(struct buf *b);
void buf_clear(struct buf *b);

#define auto_buf __attribute__((cleanup(buf_release)))
