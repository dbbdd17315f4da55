/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A signal handler set without libc, AArch64: the kernel knows by itself where it returns to. */
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_RESTORER 0ul

/* What the kernel calls struct sigaction. */
struct signal_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#define signal_return NULL
