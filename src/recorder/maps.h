/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Calls that map memory, where libc's own functions are hooked in place (inplace.c). */
#include "recorder/rt.h"

typedef uint64_t (*maps_original)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* Somebody calls libc's function: makes the call, and records it. */
uint64_t maps_inside(enum event_call call, maps_original original, const uint64_t *arguments,
		     const uint64_t *frame) HIDDEN;
/* libc's function is hooked now, and this is the way past that. */
void maps_are_inside(enum event_call call, const void *original) HIDDEN;
