/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Bytes that grow, in memory of the agent's own.
 *
 * The agent lives in somebody else's process: what it needs is mapped, never allocated, so that
 * the allocator's statistics are the program's alone.  Where there is no memory the text is marked
 * as failed and keeps what it has; the sender checks that once. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *data;
	size_t size, room;
	size_t used; /* at most so many bytes were ever written */
	bool failed;
};

void text_release(struct text *t);
/* A few mappings are kept for the next text: each that goes away stops the program's other threads
 * for a moment.  Are there any; and letting go of them. */
bool text_spares(void);
void text_let_go(void);
/* Room for `more` bytes behind the end, which are 0 where nothing was written; false if there is
 * none. */
bool text_reserve(struct text *t, size_t more);
void text_add(struct text *t, const void *bytes, size_t size);
void text_str(struct text *t, const char *s);
void text_char(struct text *t, char c);
void text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A string of JSON, with its quotes; what is not ASCII is left out. */
void text_json(struct text *t, const char *s);
