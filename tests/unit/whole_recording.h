/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Recordings of programs that are all chance, with everything that a recording can hold; and the
 * comparison of two models, field by field. */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

/* The same for the same seed.  Not complete: it has no end. */
void whole_recording(const char *path, uint64_t seed, uint32_t events, bool complete);
/* Asserts that two loaded recordings are the same in everything that can be asked of them. */
void same_models(const struct model *a, const struct model *b);
