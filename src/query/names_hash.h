/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What answers about a recording depend on besides the file and this build: the names that were
 * found, what rules say of frames, and the user's own rules.  For what is kept beside a cached
 * recording.  Any thread. */
#include <stdint.h>

struct view;

/* Independent of the numbers that names happen to have. */
uint64_t names_hash(const struct view *v);
