/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The collector's log: to the file that the options name, or to a given descriptor (`memoir run`:
 * its own stderr), or nowhere.  Never to the program's stderr. */
#include <stdint.h>
#include <sys/types.h>

#include "wire/options.h"

/* `fallback_fd` is used where no log file is named; -1: nowhere.  A log file that cannot be opened
 * leaves the fallback. */
void log_start(const struct options *options, pid_t pid, const char *program, int fallback_fd);
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);
