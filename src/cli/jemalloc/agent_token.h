/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* --token-file of commands that ask agents. */
#include "cli/command.h"

const char *agent_token_set(const struct command_option *row, const char *path);

#define AGENT_TOKEN_ROW                                                                            \
	{                                                                                          \
		"token-file", 0, "FILE",                                                           \
			"the agent's token: its first line (MEMOIR_AGENT_TOKEN, the agent's "      \
			"file)",                                                                   \
			COMMAND_CALL, .set = agent_token_set                                       \
	}
