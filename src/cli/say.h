/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What is wrong, as one line on stderr that begins with the command; and the exit status of it. */
#include "base/err.h"

/* Wrong usage: always 2. */
int say_wrong(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The work failed: always 1.  With the offset where err has one; `path` may be NULL. */
int say_failed(const char *command, const char *path, const struct err *err);
