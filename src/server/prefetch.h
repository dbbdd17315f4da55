/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Prefetches the requests that the page makes when one of its views is opened.
 *
 * Called by the library's loader when a recording is ready; the requests wait in the cache of
 * answers (answer_cache.h) until there is nothing else to do. */
struct server;
struct snapshot;

/* What was answered when the recording was opened before is there at once (first_answers.h).  Only
 * of large recordings: elsewhere every answer takes a few milliseconds. */
void prefetch_first_views(struct server *s, struct snapshot *recording);
