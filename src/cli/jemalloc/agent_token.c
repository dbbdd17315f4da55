/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* --token-file, --ca-file.  See agent_token.h. */
#include "cli/jemalloc/agent_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "cli/say.h"
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

int agent_ask(const char *command, const struct agents_entry *agent, const char *method,
	      const char *target, int timeout_ms, struct buf *body)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int error = agents_ask(agent, method, target, timeout_ms, body, &err);

	if (error == -EINVAL)
		return say_wrong(command, "%s", err.text);
	return error ? say_failed(command, agent->address, &err) : 0;
}
