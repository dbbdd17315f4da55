/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whole files, as far as they are not too long.  Any thread. */
#include <stddef.h>
#include <sys/types.h>

struct buf;

/* What read(2) gives, however often it is interrupted: the bytes, 0 at the end, or -errno. */
ssize_t read_some(int fd, void *to, size_t room);
/* A short file such as those of /proc, without allocating: its first room - 1 bytes, and a NUL.
 * How many, or -errno; the text is "" then. */
ssize_t read_short_file(const char *path, char *text, size_t room);
/* Adds what a descriptor gives, until its end or until more than `most` bytes are there: 0 or
 * -errno. */
int read_to_end(int fd, struct buf *out, size_t most);
