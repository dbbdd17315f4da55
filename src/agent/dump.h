/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Heap profile dumps: taken into memory, and what is made of them. */
#include "agent/answer.h"

/* A dump as the answer; false: it failed, which is the answer then. */
bool dump_answer(struct exchange *x);
/* A dump, added to `out`; 0 or an errno. */
int dump_take(struct text *out);
