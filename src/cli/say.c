/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lines about what is wrong.  See say.h. */
#include "cli/say.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/command.h"

int say_wrong(const char *command, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "%s: %s\n", command, text);
	return STATUS_WRONG;
}

int say_failed(const char *command, const char *path, const struct err *err)
{
	fprintf(stderr, "%s: %s%s", command, path ? path : "", path ? ": " : "");
	if (err->offset != ERR_NO_OFFSET)
		fprintf(stderr, "at byte %" PRIu64 ": ", err->offset);
	fprintf(stderr, "%s\n", err->text);
	return STATUS_FAILED;
}
