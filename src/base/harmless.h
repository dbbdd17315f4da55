/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names from elsewhere must not command a terminal.
 *
 * Symbols, file names, thread names and the like are bytes that anybody may have chosen: an escape,
 * or one of the control characters U+0080 to U+009F (0x9b alone starts a sequence on some
 * terminals), would move the cursor, set the title, or more.  What goes to a terminal passes one of
 * three places: stdio (harmless_streams), buf_flush(), or a sink; each asks here. */
#include <stdbool.h>
#include <stddef.h>

struct buf;

/* How many of the next bytes belong together; *ret_control: they are no text. */
size_t harmless_next(const char *bytes, size_t size, bool *ret_control);
/* Adds a text whose control characters but newlines and tabs become '?'.  `ours`: sequences that
 * Memoir itself writes (colours, the line that is cleared) stay. */
void harmless_add(struct buf *out, const char *bytes, size_t size, bool ours);
/* The bytes at the end that may be the beginning of a character. */
size_t harmless_unfinished(const char *bytes, size_t size);
/* Makes everything that is printed by stdio harmless from now on: stdout and stderr.  At the start
 * of a program. */
void harmless_streams(void);
