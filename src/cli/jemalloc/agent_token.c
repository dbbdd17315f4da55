/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* --token-file, --ca-file.  See agent_token.h. */
#include "cli/jemalloc/agent_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "client/agents.h"
#include "client/http.h"

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

const char *agent_token_set_ca(const struct command_option *row, const char *path)
{
	static struct err err;

	http_use_ca_file(path);
	if (!access(path, R_OK))
		return NULL;
	err_set(&err, -errno, "%.100s: %s", path, strerror(errno));
	return err.text;
}
