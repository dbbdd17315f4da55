/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Futexes in memory that two processes share, hence without FUTEX_PRIVATE_FLAG. */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = { (time_t)(timeout_ns / 1000000000u),
				    (long)(timeout_ns % 1000000000u) };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}
