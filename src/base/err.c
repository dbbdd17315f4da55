/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Error texts.  See err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_at(struct err *err, int code, uint64_t offset, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->offset = offset;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
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
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}
