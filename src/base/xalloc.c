/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocation that does not fail.  See xalloc.h. */
#include "base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

static void *or_die(void *p)
{
	if (!p) {
		static const char line[] = "memoir: out of memory\n";

		(void)!write(2, line, sizeof(line) - 1);
		abort();
	}
	return p;
}

void *xmalloc(size_t size)
{
	return or_die(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return or_die(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return or_die(realloc(p, size ? size : 1));
}

void *xreallocarray(void *p, size_t count, size_t size)
{
	return or_die(reallocarray(p, count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return or_die(strdup(s));
}

char *xmemdup0(const void *bytes, size_t size)
{
	char *p = xmalloc(size + 1);

	if (size)
		memcpy(p, bytes, size);
	p[size] = 0;
	return p;
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return or_die(text);
}

void *xgrow(void *array, size_t count, size_t *room, size_t element)
{
	if (count < *room)
		return or_die(array);
	*room = *room ? *room * 2 : 16;
	return xreallocarray(array, *room, element);
}

void *pages_grow(void *p, size_t old_size, size_t new_size)
{
	void *q;

	if (!p)
		q = mmap(NULL, new_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	else
		q = mremap(p, old_size, new_size, MREMAP_MAYMOVE);
	if (q == MAP_FAILED)
		return or_die(NULL);
	/* Where an array is touched at random, most of the time goes to address translation. */
	if (new_size >= (size_t)4 * HUGE_PAGE)
		madvise(q, new_size, MADV_HUGEPAGE);
	return q;
}

void pages_free(void *p, size_t size)
{
	if (p)
		munmap(p, size);
}
