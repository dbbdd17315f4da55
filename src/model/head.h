/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a recording says about its program in its first chunks, without loading it.  For who looks
 * at many files to find one: of a process, or of the program that a process became. */
#include "model/model.h"

/* Reads as far as the chunk that says what the program is.  `ret` has a header and INFO then, and
 * goes with head_release(); false: the file is no recording, or does not say whose process it is
 * of.  A program that has just been started may have no more than its number. */
bool head_read(struct model *ret, const char *path);
void head_release(struct model *head);
