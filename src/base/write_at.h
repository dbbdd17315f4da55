/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whole reads and writes at a place in a file.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 or -errno; then some of it may be there. */
int write_at(int fd, const void *bytes, size_t size, uint64_t offset);
/* False if there is less, or it cannot be read. */
bool read_at(int fd, void *to, size_t size, uint64_t offset);
