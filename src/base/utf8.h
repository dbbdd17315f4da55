/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names come from files that promise nothing about their bytes; most outputs must be UTF-8. */
#include <stddef.h>

struct buf;

/* Bytes of the well-formed sequence at s, or 0. */
size_t utf8_sequence(const unsigned char *s, size_t left);
/* Adds a text; bytes that are no UTF-8 become U+FFFD. */
void utf8_add(struct buf *out, const char *text, size_t size);
/* The same as a string, which is the caller's. */
char *utf8_copy(const char *text);
