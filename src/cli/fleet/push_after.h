/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* memoir fleet push in a process of its own, for commands that have made a file.  Needs nothing but
 * libc, as memoir-gather does. */
#include <stdbool.h>

/* `url` NULL: as environment and file say.  `wait`: until it has ended; else it goes on by itself.
 * Its exit status, 0 without waiting, or -errno: it could not be started. */
int push_after(const char *url, const char *path, bool quiet, bool wait);
