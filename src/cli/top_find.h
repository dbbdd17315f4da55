/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recording that is being written of a process. */
#include "base/err.h"

/* A file's name stays as it is; a number that is none is a process: the path of its recording,
 * which the caller frees, or NULL with err. */
char *top_find(const char *word, struct err *err);
