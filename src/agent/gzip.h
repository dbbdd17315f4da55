/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Bytes in gzip's wrapping, not compressed: what readers expect, without a library for it. */
#include <stddef.h>

#include "agent/text.h"

void gzip_store(struct text *out, const void *bytes, size_t size);
