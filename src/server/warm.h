/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the page asks when one of its views is opened, answered before it is asked.
 *
 * Called by the library's loader when a recording is ready; the questions wait in answer_cache.h
 * until there is nothing else to do. */
struct server;
struct snapshot;

/* Only of large recordings: elsewhere every answer takes a few milliseconds. */
void warm(struct server *s, const struct snapshot *recording);
