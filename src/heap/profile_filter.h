/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which stacks and which of their frames are wanted: --focus, --ignore, --retain and --exclude.
 * profile.c alone calls it, once locations are resolved. */
#include "heap/profile.h"

/* Tries all patterns on all frames.  0, or -ETIMEDOUT with err. */
int profile_match(struct profile *p, struct err *err);
/* After profile_match(): are the frames of a location shown (--retain, --exclude)? */
bool profile_location_wanted(const struct profile *p, const struct heap_location *location);
/* After profile_match(): is a stack of these locations shown (--focus, --ignore)? */
bool profile_sites_wanted(const struct profile *p, const uint32_t *sites, size_t count);

#define PROFILE_UNNAMED_MAX 160
/* profile_unnamed() into room that is there. */
void profile_unnamed_text(const struct profile *p, const struct heap_location *location,
			  char out[PROFILE_UNNAMED_MAX]);
