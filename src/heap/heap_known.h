/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names that were looked up before, for callers that ask about the same dump again and again. */
#include <stddef.h>

#include "heap/heap_locations.h"

/* Gives locations the frames that `options.known` have for them, and their modules the files that
 * those were read from.  How many locations have frames now. */
size_t heap_known_take(struct heap_locations *p);
