/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Colour and width.  See term.h. */
#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"

#define WIDTH_MIN 60
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 120
#define WIDE_MAX 300

static unsigned width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;

	if (!width && ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (!width)
		return WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDE_MAX ? WIDE_MAX : (unsigned)width;
}

bool term_init(struct term *t, int fd, const char *when)
{
	const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");

	t->wide = width_of(fd);
	t->width = t->wide < WIDTH_MAX ? t->wide : WIDTH_MAX;
	if (when && !strcmp(when, "always"))
		t->color = true;
	else if (when && !strcmp(when, "never"))
		t->color = false;
	else if (!when || !strcmp(when, "auto"))
		t->color =
			isatty(fd) && !(no_color && *no_color) && name && strcmp(name, "dumb") != 0;
	else
		return false;
	return true;
}

static const struct {
	const char *name, *sequence;
} styles[] = {
	[STYLE_PLAIN] = { "{}", "\033[0m" },
	[STYLE_TITLE] = { "{title}", "\033[1;36m" },
	[STYLE_STRONG] = { "{strong}", "\033[1m" },
	[STYLE_DIM] = { "{dim}", "\033[2m" },
	[STYLE_NUMBER] = { "{number}", "\033[33m" },
	[STYLE_FUNCTION] = { "{function}", "\033[32m" },
	[STYLE_WARNING] = { "{warning}", "\033[1;33m" },
	[STYLE_BAD] = { "{bad}", "\033[1;31m" },
};

const char *term_style(const struct term *t, enum term_style style)
{
	return t->color ? styles[style].sequence : "";
}

/* The style that `text` begins with, as it is written in formats; else one behind the last. */
static enum term_style style_at(const char *text)
{
	enum term_style s = STYLE_PLAIN;

	while (s <= STYLE_BAD && strncmp(text, styles[s].name, strlen(styles[s].name)) != 0)
		s++;
	return s;
}

void term_vprintf(const struct term *t, struct buf *out, const char *format, va_list args)
{
	auto_buf struct buf styled = { 0 };

	while (*format) {
		enum term_style s = style_at(format);
		size_t plain = s > STYLE_BAD ? 1 + strcspn(format + 1, "{") : 0;

		buf_add(&styled, format, plain);
		buf_text(&styled, plain ? "" : term_style(t, s));
		format += plain ? plain : strlen(styles[s].name);
	}
	buf_vprintf(out, styled.size ? styled.data : "", args);
}

void term_printf(const struct term *t, struct buf *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	term_vprintf(t, out, format, args);
	va_end(args);
}
