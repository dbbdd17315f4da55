/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* An allocator to replay with: a library that is preloaded, and settings in its environment.
 *
 * As people write it: "jemalloc", "/opt/lib/libmimalloc.so", "glibc", each with settings before it
 * as a shell would have them: "MALLOC_CONF=narenas:1 jemalloc". */
#include <stddef.h>

#include "base/err.h"

struct allocator {
	char *text;    /* as it was given */
	char *library; /* what is preloaded; NULL: nothing, which is glibc's own */
	char **settings;
	size_t setting_count, setting_room;
};

/* 0, or -EINVAL or -ENOENT with err. */
int allocator_parse(struct allocator *a, const char *text, struct err *err);
void allocator_release(struct allocator *a);
