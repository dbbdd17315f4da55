/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* memoir jemalloc abs, del and eff: what jemabs, jemdel and jemeff printed of arenas, to the blank;
 * and beyond these tools any field, the sum of all arenas, differences from one snapshot to the
 * next, rates, CSV, JSON, a plot.  Any of these options leaves the old way of printing. */
#include "cli/command.h"
#include "jemalloc/arena_series.h"

extern const struct command_option arenas_options[], arenas_del_options[];

/* The whole of the command; the exit status. */
int arenas_run(const char *command, enum arena_series_kind kind, int argc, char **argv);
