/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Text inside XML and HTML, of bytes that promise nothing. */
#include <stddef.h>

struct buf;

/* Adds at most `columns` characters of a text, cut in the middle where it is longer, escaped for an
 * element or an attribute.  What XML has no way to write is shown by another character: a line end
 * by U+240A and so on, bytes that are no UTF-8 by U+FFFD. */
void xml_text(struct buf *out, const char *text, size_t columns);
/* The same with nothing but an end. */
void xml_text_cut(struct buf *out, const char *text, size_t columns);
/* JSON that stands in a script element: no '<', '>' or '&' is left, nor what XML forbids. */
void xml_json(struct buf *out, const struct buf *json);
