/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The user's folder of caches: names, temporary files, who goes first when it is full.  Recordings,
 * names and tables of binaries are in it.
 *
 * A file is built under a temporary name and locked (flock) meanwhile; a temporary file that nobody
 * holds is a dead builder's, and is removed.  It gets its final name only when it is complete, and
 * is never changed or cut afterwards, since it may be mapped: it is removed by unlink() alone. */
#include <stdbool.h>
#include <stdint.h>

struct iovec;

struct cache_options {
	char *dir;	/* NULL: none */
	uint64_t limit; /* bytes that all files together may have: see cache_dir_limit() */
	uint64_t least; /* recordings of fewer allocations are loaded in no time */
};

/* As the environment says: XDG_CACHE_HOME or HOME, MEMOIR_CACHE_LIMIT. */
void cache_options_init(struct cache_options *o);
void cache_options_release(struct cache_options *o);
/* "500M", "16G", "1048576": false if it is no size. */
bool cache_parse_size(const char *text, uint64_t *ret_size);

#define CACHE_NAME_MAX 128
#define CACHE_TABLES_SUFFIX ".tables" /* of binaries: base/pieces.h */

/* The folder, which is made if need be: a descriptor or -errno.  One that is not the user's, or
 * that others may write to, is not used. */
int cache_dir_open(const char *path, bool make);
/* A new temporary file for `name`, locked: a descriptor or -errno. */
int cache_dir_temporary(int dir, const char *name, char *ret_temporary);
/* Says that this process builds `name`: a descriptor to give up, -EBUSY if another does, or -errno.
 */
int cache_dir_claim(int dir, const char *name);
void cache_dir_give_up_claim(int dir, const char *name, int claim);
/* Gives it its name: 0, -EEXIST if another came first, or -errno. */
int cache_dir_commit(int dir, const char *temporary, const char *name);
/* The file of that name, marked as used now: a descriptor or -errno. */
int cache_dir_find(int dir, const char *name);
/* UINT64_MAX stands for 16 GiB or a tenth of the disk, whichever is less. */
uint64_t cache_dir_limit(int dir, uint64_t limit);
/* Removes what dead builders left, then the files used longest ago until the rest (but `keep`) is
 * within the limit.  Returns how many files were removed. */
unsigned cache_dir_tidy(int dir, uint64_t limit, const char *keep);
/* A file in one go, in place of another command's, which knows as much; then tidies. */
void cache_dir_put(int dir, const char *name, const struct iovec *parts, unsigned count,
		   uint64_t limit);
