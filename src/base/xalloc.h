/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Memory on the host side: out of it means abort, so callers check nothing.  free() and the rest of
 * stdlib.h come with it.
 *
 * A size that was read from a file must be checked against the file before it comes here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* libiberty asks for this one by name, and would bring its own of all of these otherwise. */
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
void *xreallocarray(void *p, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xmemdup0(const void *bytes, size_t size) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* Makes room for one more element: returns the array, perhaps moved, with *room raised. */
void *xgrow(void *array, size_t count, size_t *room, size_t element)
	__attribute__((returns_nonnull));
/* One more element behind an array that grows, for the caller to fill:
 *	*xpush(l->rows, l->count, l->room) = row; */
#define xpush(array, count, room)                                                                  \
	((array) = xgrow((array), (count), &(room), sizeof(*(array))), &(array)[(count)++])

/* Memory for arrays that grow to gigabytes: pages from the kernel, zeroed, grown without a copy,
 * and resident only where they were touched. */
void *pages_grow(void *p, size_t old_size, size_t new_size) __attribute__((returns_nonnull));
void pages_free(void *p, size_t size);

static inline void free_pointer(void *p)
{
	free(*(void **)p);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* A variable that is given back when its block is left: by the function of its type. */
#define auto_release(function) __attribute__((cleanup(function)))
#define auto_free __attribute__((cleanup(free_pointer)))
#define auto_close __attribute__((cleanup(close_fd)))
