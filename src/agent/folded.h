/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Stacks as text: "main;run;make 4096", a line for each.
 *
 * Weights are bytes that are alive, or for `allocs` all bytes ever, where the program keeps that;
 * of a difference what was added.  Frames of the allocator are left out. */
#include "agent/answer.h"
#include "agent/profile.h"

void folded_answer(struct exchange *x, const struct profile *p, bool allocs);
