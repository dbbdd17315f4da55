/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whose blocks?  What the recording says about the allocators underneath, and about its calls.
 *
 * A program may have two: libc's, and one inside a file of its own (jemalloc with a prefix, say),
 * whose blocks are marked.  Without libc's among them there is nothing to tell apart.  Any thread:
 * a loaded model is only read. */
#include <stdbool.h>
#include <string.h>

#include "model/model.h"
#include "pairing/columns.h"

/* Are the others glibc's, so that flags about mappings and arenas mean something? */
static inline bool allocator_is_glibc(const struct model *m)
{
	const char *allocator = model_info(m, "allocator"), *first;
	size_t size = allocator ? strcspn(allocator, ",") : 0;

	if (!size)
		return true;
	first = memrchr(allocator, '/', size);
	first = first ? first + 1 : allocator;
	return !strncmp(first, "libc.", 5) || !strncmp(first, "libc-", 5);
}

/* Is a block that this call made jemalloc's, whatever its flags? */
static inline bool allocator_is_jemalloc(const struct model *m, const char *call)
{
	const char *allocator = model_info(m, "allocator");
	bool marked = allocator_is_glibc(m) && model_info(m, INFO_MARKS_INSIDE);

	return (allocator && strstr(allocator, "jemalloc") && !marked) ||
	       !strcmp(call, "mallocx") || !strcmp(call, "rallocx") || !strcmp(call, "xallocx");
}

/* Are blocks that are marked (TAG_INSIDE) jemalloc's? */
static inline bool allocator_inside_is_jemalloc(const struct model *m)
{
	const char *allocator = model_info(m, "allocator");

	return allocator && strstr(allocator, "jemalloc");
}

static inline bool flags_are_inside(unsigned flags)
{
	return (flags & TAG_INSIDE) == TAG_INSIDE;
}
