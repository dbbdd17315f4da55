/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a seccomp filter answers to a system call. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The answer (SECCOMP_RET_…, with its data) of a filter of `count` instructions.  Of one that the
 * kernel would not take: SECCOMP_RET_KILL_PROCESS. */
uint32_t bpf_answer(const struct sock_filter *program, unsigned count,
		    const struct seccomp_data *call);
