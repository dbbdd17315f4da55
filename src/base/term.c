/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Colour and width.  See term.h. */
#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

const char *term_style(const struct term *t, enum term_style style)
{
	static const char *const sequences[] = {
		[STYLE_PLAIN] = "\033[0m",	[STYLE_TITLE] = "\033[1;36m",
		[STYLE_STRONG] = "\033[1m",	[STYLE_DIM] = "\033[2m",
		[STYLE_NUMBER] = "\033[33m",	[STYLE_FUNCTION] = "\033[32m",
		[STYLE_WARNING] = "\033[1;33m", [STYLE_BAD] = "\033[1;31m",
	};

	return t->color ? sequences[style] : "";
}
