/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of functions and files, made to fit into a line of a terminal. */
#include <stddef.h>

struct buf;

/* At most `room` columns; the start of a name says more than its end. */
void text_shortened(struct buf *out, const char *text, size_t room);
/* std::vector<int, std::allocator<int> >::reserve(unsigned long) as std::vector<…>::reserve(…):
 * what a template is made of says the least, and takes the most room.  The caller frees it. */
char *text_abbreviated(const char *name);
