/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which fleet a command means, and what it calls what it sends: the options, and what they were
 * given.  An option comes before the environment and the file (fleet/settings.h). */
#include "answer/snapshot.h"
#include "cli/command.h"
#include "fleet/settings.h"

const char *fleet_options_set(const struct command_option *row, const char *value);

#define FLEET_ROW                                                                                  \
	CALL("fleet", 0, "URL", "the fleet: clickhouse://HOST[:PORT]/DATABASE (MEMOIR_FLEET)",     \
	     fleet_options_set, .context = "url")
#define FLEET_SENDING_ROWS                                                                         \
	CALL("service", 0, "NAME", "what it is called there (the program's name)",                 \
	     fleet_options_set, .context = "service"),                                             \
		CALL("release", 0, "TEXT", "release that it is of", fleet_options_set,             \
		     .context = "release"),                                                        \
		CALL("label", 'l', "NAME=VALUE", "a label; may be repeated", fleet_options_set,    \
		     .context = "label")

/* What file, environment and options say: 0, or the exit status after saying what is wrong. */
int fleet_options_read(const char *command, struct fleet_settings *ret_settings);
/* A connection, without asking: 0, or the exit status after saying what is wrong. */
int fleet_options_open(const char *command, struct fleet_settings *ret_settings,
		       struct fleet *ret_fleet);
/* The fleet as questions are asked about it: NULL after saying what is wrong. */
struct snapshot *fleet_options_snapshot(const char *command, int *ret_status);
/* Was one named, by an option, the environment or the file? */
bool fleet_options_given(void);
/* By an option? */
bool fleet_options_named(void);
