/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What libraries keep on purpose until the program ends, so that nobody looks for a leak there:
 * libstdc++'s emergency pool, buffers of stdio, what the dynamic linker knows.
 *
 * The rules are text, a line each: pool WHERE PATTERN… : REASON.  Those of known_pools.txt are
 * built in; a user's are in the file of rules on frames (user_rules.h) and come before them.  Any
 * thread; one at a time for each struct known_pools. */
#include <stdint.h>

#include "base/err.h"
#include "query/view.h"

struct responsible;

struct known_pool {
	const char *reason; /* "libstdc++'s emergency pool" */
	unsigned number;    /* of all of them, from 0 */
};

struct known_pools;
/* With the user's, as far as they can be read. */
struct known_pools *known_pools_new(void);
struct known_pools *known_pools_free(struct known_pools *p);
/* All numbers are below. */
unsigned known_pools_count(const struct known_pools *p);
const struct known_pool *known_pools_at(const struct known_pools *p, unsigned number);
/* Looks at the names of this recording from now on. */
void known_pools_use(struct known_pools *p, const struct responsible *r);
/* The rule that a stack's blocks are kept by, or NULL; valid as long as `p`. */
const struct known_pool *known_pool_of_stack(struct known_pools *p, uint32_t stack);

/* Checks the rules on pools in a user's file: 0, or -EINVAL with err. */
int known_pools_check(const char *text, struct err *err);
