/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a program forbids itself, and us with it. */
#include "recorder/rt.h"

/* prctl(PR_SET_SECCOMP, …) and syscall(SYS_seccomp, …), which libseccomp calls: what will not be
 * allowed is not called from here on. */
int sandbox_prctl(const unsigned long *arguments) HIDDEN;
long sandbox_syscall(long number, unsigned long operation, unsigned long flags, const void *filter,
		     long d, long e, long f) HIDDEN;
/* May a process that inherits the filters begin a recording, with a collector of its own? */
bool sandbox_allows_start(void) HIDDEN;
