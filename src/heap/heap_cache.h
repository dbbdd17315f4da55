/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of one module's addresses in a file, beside cached recordings: dumps of one program are
 * looked at again and again.
 *
 * A file is for one state of the module's files (symbols_found.stamp) and this build of Memoir.
 * It is summed, and everything in it is checked all the same before it is used.  One thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/cache_dir.h"
#include "symbols/symbols.h"

struct heap_cache;

/* NULL: there is no folder for it, or nothing that it could be known by. */
struct heap_cache *heap_cache_open(const struct cache_options *o, uint64_t stamp);
/* The caller releases the symbol. */
bool heap_cache_find(const struct heap_cache *c, uint64_t address, struct symbol *ret);
/* To be kept when the cache is closed; the symbol is borrowed until then. */
void heap_cache_add(struct heap_cache *c, uint64_t address, const struct symbol *s);
/* Writes what was added, and what was there. */
struct heap_cache *heap_cache_close(struct heap_cache *c);
