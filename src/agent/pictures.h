/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Profiles for people: stacks as text, and as a flame graph.
 *
 * Weights are bytes that are alive, or for `allocs` all bytes ever, where the program keeps that;
 * of a difference what was added.  Frames of the allocator are left out. */
#include "agent/answer.h"
#include "agent/places.h"
#include "agent/profile.h"

/* folded.c: "main;run;make 4096", a line for each stack. */
void folded_answer(struct exchange *x, const struct profile *p, bool allocs);
/* flame.c: a still picture. */
void flame_answer(struct exchange *x, const struct profile *p, bool allocs);

/* What a stack counts for. */
uint64_t folded_weight(const struct profile *p, const struct profile_sample *s, bool allocs);
/* The innermost of its frames that is not the allocator's; pc_count if there is none. */
size_t folded_first(const struct places *places, const struct profile *p,
		    const struct profile_sample *s);
