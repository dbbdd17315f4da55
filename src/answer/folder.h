/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A folder of recordings, which is asked as one file (a snapshot with a `folder`): the processes of
 * one `memoir run --children`.
 *
 * Its members are taken one after the other.  The server has them open and lends them; a command
 * opens each when it is taken and closes it when it is dropped, so that a folder of thousands needs
 * the memory of one. */
#include <stddef.h>

#include "answer/snapshot.h"
#include "base/err.h"

struct folder_member {
	char *name; /* of the file, within the folder */
	char id[ID_SIZE];
	struct snapshot *snapshot; /* held; NULL: it is loaded when it is taken */
	struct err err;		   /* why the server could not read it */
};

struct folder {
	char *path;
	struct folder_member *members;
	size_t count, room;
	/* Opens one that is not: NULL with err. */
	struct snapshot *(*load)(const struct folder *f, const char *path, struct err *err);
};

/* All recordings in a folder, by name: NULL with err if it cannot be read. */
struct folder *folder_read(const char *path, struct err *err);
/* The next member, which the caller fills in. */
struct folder_member *folder_add(struct folder *f);
struct folder *folder_free(struct folder *f);
/* The path of one, which the caller frees. */
char *folder_path(const struct folder *f, size_t member);
/* To be dropped; NULL with err. */
struct snapshot *folder_take(const struct folder *f, size_t member, struct err *err);
/* A snapshot of it, which frees it at the end; `kind` as server/kind.h has it. */
struct snapshot *folder_snapshot(struct folder *f, const struct kind *kind);
