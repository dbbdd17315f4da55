/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The answers to the page's first requests (prefetch.h), in a file beside the cached recording: who
 * opens a large recording again sees every view at once, and the processor is free for the browser.
 *
 * Prefetching takes from it what is there, and wants the rest; once nobody waits for anything, what
 * is wanted has been answered and is put into the file.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"

struct answer_cache;
struct first_answers;
struct snapshot;

/* Of a recording; NULL: nothing is kept of it. */
struct first_answers *first_answers_open(struct snapshot *recording);
/* An answer that is in the file becomes the cache's: true.  Otherwise it is wanted.  `address`
 * begins behind the recording's id; it stays the caller's, and `key` as well. */
bool first_answers_take(struct first_answers *f, struct answer_cache *cache, const char *address,
			const char *key, const char *type);
/* Does the file lack anything? */
bool first_answers_lack(const struct first_answers *f);
/* Puts what the cache has of all that was taken and wanted into the file. */
void first_answers_store(struct first_answers *f, struct answer_cache *cache);
struct first_answers *first_answers_free(struct first_answers *f);

/* NULL: it is not there, or the bytes are not as they should be. */
const void *first_answers_find(const void *bytes, size_t size, uint64_t names, const char *address,
			       size_t *ret_size, bool *ret_gzip);
