/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The hooks' slow paths, and the hooks by the names that the redirected callers are given. */
#include "recorder/real.h"

/* No thread state, or recording is off: starts what has to be started.  NULL: do not record. */
struct rt_thread *hooks_enter_slow(enum rt_need need) HIDDEN;
/* In the child of fork: it is not recorded. */
void hooks_in_child(void) HIDDEN;

/* libgcc was not there at the start, but may be now.  Takes the loader's lock. */
void frames_find_real(void) HIDDEN;

/* One event each, of a call that is not made through a hook below. */
void hooks_record_alloc(struct rt_thread *t, enum event_call call, void *p, size_t size,
			uint64_t usable, uint64_t flags, const uint64_t *frame,
			enum event_op op) HIDDEN;
void hooks_record_free(struct rt_thread *t, enum event_call call, void *p,
		       const uint64_t *frame) HIDDEN;
void hooks_record_realloc_from(struct rt_thread *t, enum event_call call, void *p) HIDDEN;
void hooks_record_realloc_over(struct rt_thread *t, enum event_call call, void *old, bool failed,
			       const uint64_t *frame) HIDDEN;

/* The stack of a hook's caller: the number of its node. */
uint32_t hooks_stack(struct rt_thread *t, const uint64_t *frame) HIDDEN;

#define HOOK(name, class) extern __typeof(*((struct real *)0)->name) hook_##name HIDDEN;
#include "wire/hooks.def"
#undef HOOK
