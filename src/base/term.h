/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The terminal, if it is one: colour and width. */
#include <stdarg.h>
#include <stdbool.h>

struct buf;

enum term_style {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_STRONG,
	STYLE_DIM,
	STYLE_NUMBER,
	STYLE_FUNCTION,
	STYLE_WARNING,
	STYLE_BAD /* what is wrong */
};

struct term {
	bool color;
	unsigned width; /* columns to write into */
	unsigned wide;	/* the same for tables, which may take more than text can be read in */
};

/* `when`: "auto" (or NULL), "always", "never"; false when it is none of them.  Auto means a
 * terminal on fd, no NO_COLOR, and TERM not "dumb". */
bool term_init(struct term *t, int fd, const char *when);
/* The escape sequence of a style, or "" without colour.  STYLE_PLAIN ends any other. */
const char *term_style(const struct term *t, enum term_style style);
/* buf_printf() with styles in the format: "{title}SIZE{}" is a word in STYLE_TITLE. */
void term_printf(const struct term *t, struct buf *out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void term_vprintf(const struct term *t, struct buf *out, const char *format, va_list args);
