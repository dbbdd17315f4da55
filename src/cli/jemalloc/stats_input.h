/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Statistics on a command line: each snapshot of a file is handed on, and what is broken is said.
 * `command` is what messages begin with.  Each returns the exit status; snapshots before and behind
 * a broken one still come. */
#include "jemalloc/snapshots.h"

typedef void (*stats_input_take)(void *context, struct snapshots *r);

/* Of what was opened, whose name is for messages; without a single snapshot the status is 1. */
int stats_input(const char *command, const char *name, struct snapshots *r, stats_input_take take,
		void *context);
/* Of a file, "-" for standard input. */
int stats_input_file(const char *command, const char *path, stats_input_take take, void *context);
/* A stats_input_take whose context is a struct stats: it becomes the last snapshot. */
void stats_input_keep_last(void *stats, struct snapshots *r);
