/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a command gets a token from.  See secrets.h. */
#include "cli/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int secret_choose(const char *command, const struct secret_sources *from, char room[SECRET_SIZE],
		  const char **ret_secret)
{
	const char *text = from->variable ? getenv(from->variable) : NULL;
	struct err err;
	int error;

	*ret_secret = NULL;
	if (from->file) {
		error = secret_read(from->file, room, &err);
		if (*err.text)
			fprintf(stderr, "%s: %s\n", command, err.text);
		if (error)
			return 1;
		*ret_secret = room;
	} else if (text && *text) {
		if (strlen(text) >= SECRET_SIZE) {
			fprintf(stderr, "%s: the token is too long\n", command);
			return 2;
		}
		*ret_secret = strcpy(room, text);
	}
	return 0;
}
