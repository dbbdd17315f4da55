/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What answers may cost the program.
 *
 * The agent's thread has an account of processor time, a hundredth of a core.  While there is
 * something in it every question is answered anew.  Where somebody asks so often that it is empty,
 * the same question gets the same answer for half a second, with its age in a header.
 * Nobody is ever refused, and no answer is older.  On the agent's thread. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/answer.h"

/* Before an answer is made: true where it is one that was kept. */
bool repeat_given(struct exchange *x);
/* It was made: what it cost is taken from the account. */
void repeat_made(struct exchange *x);
/* Something may have changed: what is kept is no longer true. */
void repeat_forget(void);
/* When something that is kept gets too old, or INT64_MAX; and letting go of it then. */
int64_t repeat_until(void);
void repeat_expire(int64_t now);
