/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the commands that run scripts share: their recordings and limits. */
#include "base/err.h"
#include "cli/command.h"
#include "script/script.h"

extern struct script_limits scripting_limits; /* as the options say */

const char *scripting_add_data(const struct command_option *row, const char *value);
const char *scripting_set_limit(const struct command_option *row, const char *value);
#define SCRIPTING_ROWS                                                                             \
	CALL("data", 'd', "FILE", "a recording, the script's data(); may be given again",          \
	     scripting_add_data),                                                                  \
		CALL("time", 0, "DURATION", "end it after so long", scripting_set_limit),          \
		CALL("memory", 0, "SIZE", "let its own values take no more", scripting_set_limit), \
		CALL("instructions", 0, "N", "end it after so many steps", scripting_set_limit)

/* Is it a recording, or another file that questions are about? */
bool scripting_is_data(const char *path);
/* A reference, or NULL with err, whose text is empty where it was said already; *status becomes the
 * worst of the files'. */
struct snapshot *scripting_open(const char *path, struct err *err, int *status);
/* Gives a script what the options name: false after saying what is wrong. */
bool scripting_give_data(struct script *s, int *status);
