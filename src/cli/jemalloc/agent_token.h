/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* --token-file and --ca-file of commands that ask agents. */
#include "cli/command.h"
#include "client/agents.h"

struct buf;

const char *agent_token_set(const struct command_option *row, const char *path);
const char *agent_token_set_ca(const struct command_option *row, const char *path);

#define CA_FILE_ROW                                                                                \
	CALL("ca-file", 0, "FILE", "certificates that those of https:// are checked with",         \
	     agent_token_set_ca)
#define AGENT_TOKEN_ROWS                                                                           \
	CALL("token-file", 0, "FILE",                                                              \
	     "the agent's token: its first line (MEMOIR_AGENT_TOKEN, the agent's file)",           \
	     agent_token_set),                                                                     \
		CA_FILE_ROW

/* agents_ask(), and the exit status: 0, or another after saying what is wrong. */
int agent_ask(const char *command, const struct agents_entry *agent, const char *method,
	      const char *target, int timeout_ms, struct buf *body);
