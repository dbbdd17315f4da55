/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* File names with placeholders: %p the program's pid, %t the unix time in seconds, %e the
 * program's name, %n a counter, %% a percent sign.  Anything else stays as it stands. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is there a %n? */
bool pattern_counts(const char *pattern);
/* False if it does not fit. */
bool pattern_expand(char *out, size_t size, const char *pattern, pid_t pid, const char *program,
		    unsigned counter);
