/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Arrays for a while that may grow with a recording, and are not to take memory of our own.
 *
 * Small ones are in memory.  From SCRATCH_FILE bytes on they are a file without a name, mapped and
 * shared: the kernel may write its pages out and forget them, and nothing is left when we are
 * killed.  Room is taken before it is mapped, since a store to a page that the disk has no room for
 * is a SIGBUS; where there is none, the array is in memory after all. */
#include <stddef.h>
#include <stdint.h>

#define SCRATCH_FILE ((size_t)1 << 20)

enum scratch_place { SCRATCH_HEAP, SCRATCH_PAGES, SCRATCH_MAPPED };

/* A zeroed one is empty. */
struct scratch {
	void *data;
	size_t size;
	enum scratch_place place;
	int fd; /* of SCRATCH_MAPPED; -1: will not grow in place */
};

/* Makes it `size` bytes, never fewer than it has; what is new is zero.  Returns the data, which may
 * have moved. */
void *scratch_resize(struct scratch *s, size_t size) __attribute__((returns_nonnull));
/* It has the size that it will have: needs no descriptor from now on. */
void scratch_seal(struct scratch *s);
void scratch_release(struct scratch *s);

/* A file without a name in $TMPDIR, /var/tmp or /tmp, or -1. */
int scratch_open(void);
/* Takes room in a file, so that it can be mapped: 0 or -errno.  Where a limit forbids it, asking
 * would be a signal, so it is not asked. */
int scratch_reserve(int fd, uint64_t offset, uint64_t size);
