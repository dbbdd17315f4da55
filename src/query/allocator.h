/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whose blocks? What the recording says about the allocator underneath, and about its calls. */
#include <stdbool.h>
#include <string.h>

#include "model/model.h"

/* Is a block that this call made jemalloc's? */
static inline bool allocator_is_jemalloc(const struct model *m, const char *call)
{
	const char *allocator = model_info(m, "allocator");

	return (allocator && strstr(allocator, "jemalloc")) || !strcmp(call, "mallocx") ||
	       !strcmp(call, "rallocx") || !strcmp(call, "xallocx");
}

/* Are the others glibc's, so that flags about mappings and arenas mean something? */
static inline bool allocator_is_glibc(const struct model *m)
{
	const char *allocator = model_info(m, "allocator"), *base;

	base = allocator && strrchr(allocator, '/') ? strrchr(allocator, '/') + 1 : allocator;
	return !base || !*base || !strncmp(base, "libc.", 5) || !strncmp(base, "libc-", 5);
}
