/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where a binary's compressed tables (base/pieces.h) are besides the recording: in the user's
 * cache, so that the next recording copies them instead of making them again, and in a folder
 * beside the recordings of one family, so that they are there once for all.
 *
 * Any number of collectors use both at once: a file appears under its name when it is complete, and
 * is never changed.  The maker of one has a claim meanwhile, so that the others do not make it
 * too.  Neither place is needed: where it cannot be used, tables go into the recording. */
#include <stdbool.h>
#include <stdint.h>

#include "base/cache_dir.h"
#include "base/pieces.h"
#include "wire/format.h"

struct binary_store;

/* A file that is being made. */
struct binary_build {
	struct pieces_writer writer;
	int claim;
	char temporary[CACHE_NAME_MAX];
};

/* `recording` is the path of a recording beside which files are to be shared, or NULL; `cached`:
 * the user's cache is used too. */
struct binary_store *binary_store_new(const char *recording, bool cached);
struct binary_store *binary_store_free(struct binary_store *s);
/* Are files to be shared?  No longer, once that has failed. */
bool binary_store_shares(const struct binary_store *s);
/* A descriptor of the complete file with this key, or -1. */
int binary_store_find(struct binary_store *s, const char *key);
/* Sees to it that a file that was found is among the shared ones; false if that cannot be. */
bool binary_store_share(struct binary_store *s, const char *key, int fd);
/* Begins to make a file: 0, -EBUSY if another collector does, another -errno if it cannot be kept
 * anywhere.  `patient`: a claim of another is respected. */
int binary_store_begin(struct binary_store *s, const char *key, bool patient,
		       struct binary_build *b);
/* It is complete, or will not be.  0 or -errno. */
int binary_store_end(struct binary_store *s, const char *key, struct binary_build *b, bool whole);
