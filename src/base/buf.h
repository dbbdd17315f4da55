/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Bytes that grow: text being put together, or a file's content.  A zeroed one is empty. */
#include "base/buf_type.h"

/* Makes room for `more` bytes behind what is there. */
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *bytes, size_t size);
/* Writes everything to a descriptor and clears; 0 or -errno.  What goes to a terminal, or is a
 * message on standard error, is made harmless: see harmless.h. */
int buf_flush(struct buf *b, int fd);
