/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where a command gets a token from: one order and one wording for all of them. */
#include "base/secret.h"

struct secret_sources {
	const char *file;     /* of --token-file; NULL: not given */
	const char *variable; /* of the environment; NULL: none */
};

/* 0 with *ret_secret in `room` (NULL: none was given), or the exit status after saying why.  No
 * option takes the secret itself: other users can read command lines. */
int secret_choose(const char *command, const struct secret_sources *from, char room[SECRET_SIZE],
		  const char **ret_secret);
