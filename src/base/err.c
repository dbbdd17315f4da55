/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Error texts.  See err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/harmless.h"

/* Names of files and of what is in them are part of it. */
static void err_fill(struct err *err, const char *format, va_list args)
{
	char *p = err->text;
	bool control;

	vsnprintf(err->text, sizeof(err->text), format, args);
	for (size_t left = strlen(p), n; left; p += n, left -= n) {
		n = harmless_next(p, left, &control);
		if (control) /* a character of two bytes is two marks: the text stays as long */
			memset(p, '?', n);
	}
}

int err_at(struct err *err, int code, uint64_t offset, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->offset = offset;
	va_start(args, format);
	err_fill(err, format, args);
	va_end(args);
	return code;
}

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->offset = ERR_NO_OFFSET;
	va_start(args, format);
	err_fill(err, format, args);
	va_end(args);
	return code;
}
