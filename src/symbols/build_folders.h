/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The folders that a program was built in, as its own file on this machine tells.
 *
 * A recording names what it likes, and may bring debug information of its own; but a file that is
 * here, has the recorded build id, and that nobody but this user and root can have written, was
 * built where it says.  The sources below are this user's to show (server/source_files.h). */
#include <stddef.h>

#include "symbols/symbols.h"

struct build_folders {
	char **rows; /* absolute, without . and .. */
	size_t count, room;
};

/* Adds those of a module whose files were found. */
void build_folders_add(struct build_folders *b, const struct symbols_found *found);
void build_folders_release(struct build_folders *b);
/* A path without . and .., or NULL if it is not absolute; the caller frees it. */
char *build_folder_plain(const char *path);
