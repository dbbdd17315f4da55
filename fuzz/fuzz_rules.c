/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A user's file of rules on frames and on what is kept on purpose. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "query/frame_kind.h"
#include "query/known_pools.h"

FUZZ(rules, data, size)
{
	char *text = xmemdup0(data, size);
	struct err err;

	frame_rules_free(frame_rules_read(text, &err));
	known_pools_check(text, &err);
	free(text);
	return 0;
}
