/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* File names with placeholders: %p the program's pid, %t the unix time in seconds, %e the
 * program's name, %n a counter, %% a percent sign.  Anything else stays as it stands. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is there this placeholder? */
bool file_name_has(const char *pattern, char letter);
/* How much of a name comes before its suffix: where a number is put in. */
size_t file_name_stem(const char *name);
/* False if it does not fit. */
bool file_name_expand(char *out, size_t size, const char *pattern, pid_t pid, const char *program,
		      unsigned counter);
