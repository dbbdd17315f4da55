/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The collector's log: to the file that the options name, or to a given descriptor (`memoir run`:
 * its own stderr), or to the program's stderr, or nowhere.
 *
 * The program's stderr is not kept: a pipe that stays open here would hang who reads it.  It is
 * fetched for each line, as long as the program lives and has what it had there at the start.  A
 * line that would have to wait is left out. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/shm.h"

/* `fallback_fd` is used where no log file is named; -1: nowhere.  A log file that cannot be opened
 * leaves the fallback. */
void log_start(const struct options *options, pid_t pid, const char *program, int fallback_fd);
/* Where there is neither a file nor a descriptor: lines go to the program's descriptor 2, if that
 * is still the file that it was when the collector was started.  `control` stays mapped. */
void log_to_program(int pidfd, pid_t in_proc, const struct shm_control *control);
/* What is not as it would be by itself. */
void log_options(const struct options *options);
bool log_is_on(enum log_level level);
__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);
