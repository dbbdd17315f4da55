/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The hooks' slow paths, and the hooks by the names that the redirected callers are given. */
#include "recorder/real.h"

/* No thread state, or recording is off: starts what has to be started.  NULL: do not record. */
struct rt_thread *hooks_enter_slow(enum rt_need need) HIDDEN;
/* In the child of fork: it is not recorded. */
void hooks_in_child(void) HIDDEN;

#define HOOK(name, class) extern __typeof(*((struct real *)0)->name) hook_##name HIDDEN;
#include "wire/hooks.def"
#undef HOOK
