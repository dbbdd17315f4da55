/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which instructions a jump at a function's entry displaces, and what they look like elsewhere.
 * Pure functions on bytes that may be anything. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/inplace.h"

/* A function's code, and what follows it up to the end of its section, at its run-time address. */
struct relocate_code {
	const uint8_t *bytes;
	size_t size; /* of the function */
	size_t room; /* of what may be looked at */
	uint64_t address;
};

/* The line of /proc/PID/status that has the word "shstk" where the processor checks that returns
 * match calls. */
extern const char relocate_features[];

/* Plans a jump at the function's entry: fills everything in `site` that depends on the code, and
 * returns NULL; or says why it cannot be done.  `shadow_stack`: that is so. */
const char *relocate_entry(const struct relocate_code *code, bool shadow_stack,
			   struct shm_site *site);
/* Does a long jump somewhere in these bytes lead into the displaced instructions of a site, behind
 * the first?  Gives the site's index, or -1. */
int relocate_jump_into(const uint8_t *bytes, size_t size, uint64_t address,
		       const struct shm_site *sites, unsigned count);
