/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A folder of recordings: the processes that belong together, as a tree. */
#include <stdbool.h>

#include "base/term.h"

bool processes_is_folder(const char *path);
/* memoir info FOLDER.  Returns the exit status. */
int processes_show(const char *folder, const struct term *term, bool as_json);
