/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* --token-file.  See agent_token.h. */
#include "cli/jemalloc/agent_token.h"

#include <stdio.h>

#include "base/secret.h"
#include "client/agents.h"

const char *agent_token_set(const struct command_option *row, const char *path)
{
	static struct err err;
	char token[SECRET_SIZE];

	if (secret_read(path, token, &err))
		return err.text;
	if (*err.text)
		fprintf(stderr, "memoir: %s\n", err.text);
	agents_use_token(token);
	return NULL;
}
