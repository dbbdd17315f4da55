/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where debug information is looked for besides the module's own file: what the user named, the
 * system's folder of debug files, and servers if the user wants them asked.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"

/* `paths` are borrowed: files, or folders that are searched to their bottom when first needed. */
struct search *search_new(const char *const *paths, size_t count, bool debuginfod);
struct search *search_free(struct search *s);

/* Called with one candidate after the other; true ends the search. */
typedef bool (*search_take)(void *context, const char *path);

/* Among what the user named: the files with a build id, then those with a file name. */
bool search_by_build_id(struct search *s, const uint8_t *id, size_t size, search_take take,
			void *context);
bool search_by_name(struct search *s, const char *name, search_take take, void *context);
/* /usr/lib/debug/.build-id/ab/cdef…SUFFIX; NULL for an id that is too short for it. */
char *search_system_path(const uint8_t *id, size_t size, const char *suffix);
/* Asks the servers; a descriptor, or -1.  Does nothing if servers are not wanted. */
int search_server(struct search *s, const uint8_t *id, size_t size);
#define DEBUG_ROOT "/usr/lib/debug"
