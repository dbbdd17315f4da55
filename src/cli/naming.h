/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How names are found: the options -d/--debug-symbols and --debuginfod.  What they were given is
 * kept here until locations are made. */
#include "cli/command.h"
#include "model/locations.h"

/* Rows for a command's options; NAMING_ROWS goes into its array. */
extern bool naming_debuginfod;
const char *naming_set_path(const struct command_option *row, const char *value);
#define NAMING_ROWS                                                                                \
	CALL("debug-symbols", 'd', "PATH", "a file or folder with debug symbols; may be repeated", \
	     naming_set_path),                                                                     \
		FLAG("debuginfod", 0, "ask the servers of DEBUGINFOD_URLS for debug symbols",      \
		     &naming_debuginfod)

/* What the command line asked for.  Says so, once, if servers cannot be asked. */
struct locations_options naming_locations(void);
