/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The user's own rules on frames, and on what is kept on purpose (known_pools.h): the file that
 * MEMOIR_FRAMES names, else memoir/frames in the user's folder of settings (XDG_CONFIG_HOME, or
 * ~/.config).  Any thread. */
#include "query/frame_kind.h"

/* NULL: there are none, or, with err, they cannot be read. */
struct frame_rules *user_rules_read(struct err *err);
/* The file's text, which is the caller's; the same. */
char *user_rules_text(struct err *err);
