/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* All of it, at a place in a file: 0 or -errno, then some of it may be there. */
int write_at(int fd, const void *bytes, size_t size, uint64_t offset);
