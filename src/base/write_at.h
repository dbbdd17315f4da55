/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whole reads and writes.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* 0 or -errno; then some of it may be there.  -ETIMEDOUT: it is a pipe that does not wait
 * (open_output()), and whose reader takes nothing. */
int write_whole(int fd, const void *bytes, size_t size);
/* The same with pieces from several places; the vectors are changed. */
int write_vectors(int fd, struct iovec *v, size_t count);

/* At a place in a file.  0 or -errno; then some of it may be there. */
int write_at(int fd, const void *bytes, size_t size, uint64_t offset);
/* How much there was of it, or -errno. */
ssize_t read_at_most(int fd, void *to, size_t size, uint64_t offset);
/* False if there is less, or it cannot be read. */
bool read_at(int fd, void *to, size_t size, uint64_t offset);
