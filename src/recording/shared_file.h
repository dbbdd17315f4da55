/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Embedded files that recordings of one family share: not in the recording, but in a folder beside
 * it (docs/format.md, Shared files).  A recording that was moved without it has the user's cache
 * left, where the collector of the same machine has put the same tables. */
#include <stdbool.h>
#include <stdint.h>

#include "recording/reader.h"

struct buf;

/* The folder that such files are in; false if the recording has no place. */
bool shared_folder(const struct reader *r, struct buf *out);
/* A descriptor, or -1: it is gone. */
int shared_file_open(const struct reader *r, const char *key);
/* The content; false if it is gone, damaged or not `size` bytes long. */
bool shared_file_read(const struct reader *r, const char *key, uint64_t size, struct buf *out);
