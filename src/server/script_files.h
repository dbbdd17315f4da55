/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Pictures and other files that scripts saved, in memory, by a hash of what is in them: those who
 * ran a script get them by it.  Those that nobody has asked for longest go first when there is no
 * room, and after an hour.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define SCRIPT_FILES_MAX (32u << 20)	    /* bytes of all of them */
#define SCRIPT_FILES_OF_ONE_MAX (8u << 20)  /* of one script's, so that it keeps what it has */
#define SCRIPT_FILES_COUNT_OF_ONE_MAX 1000u /* how many it has */
#define SCRIPT_FILES_AGE_S 3600
#define SCRIPT_FILES_HASH_SIZE 33

struct script_files;
/* Hashes of one with another seed are others. */
struct script_files *script_files_new(uint64_t seed);
struct script_files *script_files_free(struct script_files *l);

void script_files_put(struct script_files *l, const void *bytes, size_t size,
		      char ret_hash[SCRIPT_FILES_HASH_SIZE]);
/* Adds what is in it; false: there is none, or none any more. */
bool script_files_get(struct script_files *l, const char *hash, struct buf *out);
