/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which source files may be shown, and opening them.
 *
 * Their names come from recordings and debug information, which anybody may have made: a file is
 * opened only below the folders that the user who started the server allowed (--source-root), and
 * those that the program was built in (symbols/build_folders.h), never through a link out of them,
 * and only if it is a plain file.  Any thread. */
#include <sys/stat.h>

#include "answer/ask.h"
#include "answer/snapshot.h"
#include "answer/source_file.h"
#include "server/server.h"
#include "symbols/build_folders.h"

struct source_roots {
	const struct server_options *options;
	struct build_folders built;
	const char *never; /* why nothing is shown; NULL: something may be */
};

void source_roots_init(struct source_roots *r, const struct server_options *o,
		       const struct snapshot *s);
void source_roots_release(struct source_roots *r);
/* A descriptor; -ENOENT: it is not here; -errno with *ret_why, a sentence: it is not shown. */
int source_roots_open(const struct source_roots *r, const char *path, struct stat *ret_st,
		      const char **ret_why);
