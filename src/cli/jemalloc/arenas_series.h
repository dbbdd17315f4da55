/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What abs, del and eff can do beyond the tools whose place they take: any field, the sum of all
 * arenas, differences from one snapshot to the next, rates, CSV, JSON, a plot.  Any of these
 * options leaves the old way of printing. */
#include "cli/command.h"

enum arenas_series_kind { ARENAS_SERIES_ABS, ARENAS_SERIES_DEL, ARENAS_SERIES_EFF };

extern const struct command_option arenas_series_options[], arenas_series_del_options[];

/* Whether one of the options was given. */
bool arenas_series_wanted(void);
/* The whole of the command; the exit status. */
int arenas_series_run(const char *command, enum arenas_series_kind kind, int argc, char **argv);
