/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A signal handler set without libc, MIPS64: the kernel knows by itself where it returns to. */
#include <stddef.h>
#include <stdint.h>

#define SIGNAL_RESTORER 0u

/* What the kernel calls struct sigaction, and a member behind it that it does not look at. */
struct signal_action {
	unsigned flags;
	void (*handler)(int);
	uint64_t mask[2];
	void (*restorer)(void);
};

#define signal_return NULL
