/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that give up system calls (seccomp).
 *
 * A call that the program's filter does not know may be its end.  The hooks see filters coming
 * (prctl, and syscall, which libseccomp uses) and ask here first: the filter is interpreted for
 * every call that the recorder makes, and what it would not let through is not made any more.
 * Nothing else changes: each place that makes a call has a way for its failure.  Filters add up, as
 * the kernel's do.  One that is meant for a single thread is taken for all.
 *
 * Before the filter is in force everybody has to be out of sections that end with a call: threads
 * that have their signals blocked are waited for.
 *
 * On any thread of the program, also in signal handlers. */
#include "recorder/sandbox.h"
#include "recorder/bpf.h"
#include "recorder/hooks.h"
#include "recorder/sys.h"

#include <linux/audit.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PATIENCE 10000000u /* looks, for threads that have their signals blocked */
#define SYS_ALL ((1ull << SYS_BITS) - 1)
#define PTR 0x7f0000001000ull

_Atomic uint64_t sys_denied;
_Atomic uint32_t sys_blocking;

static const struct sandbox_row {
	int number;
	uint8_t bit;
	uint64_t arguments[6];
} rows[] = {
#define CALL(name, ...) { SYS_##name, BIT_SYS_##name, { __VA_ARGS__ } },
#define AGAIN(name, ...) CALL(name, __VA_ARGS__)
#include "recorder/sys_calls.def"
};

static bool lets_through(const struct sock_fprog *filter, const struct sandbox_row *row)
{
	struct seccomp_data call = {
		.nr = row->number,
		.arch = ARCH_AUDIT,
		.instruction_pointer = (uintptr_t)lets_through,
	};
	uint32_t answer;

	memcpy(call.args, row->arguments, sizeof(call.args));
	answer = bpf_answer(filter->filter, filter->len, &call) & SECCOMP_RET_ACTION_FULL;
	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

static bool is_readable(const void *from, uint64_t size)
{
	const uint64_t first = (uintptr_t)from & ~7ull, end = (uintptr_t)from + size;

	for (uint64_t p = first; p < end; p = page_down(p) + arch_page())
		if (!sys_readable((const void *)(uintptr_t)p))
			return false;
	return sys_readable((const void *)(uintptr_t)((end - 1) & ~7ull));
}

/* What this thread has blocked itself does not count: it is in a handler then, or in nothing. */
static void wait_for_blocked(void)
{
	for (uint32_t i = 0; atomic_load(&sys_blocking) && i < PATIENCE; i++)
		arch_pause();
}

/* What this thread will need while nothing more can be had. */
static void prepare(uint64_t denied)
{
	if (!rt_self)
		hooks_enter_slow(NEED_ANY);
	if (denied & (1ull << BIT_SYS_mmap | 1ull << BIT_SYS_mremap)) {
		trie_prepare();
		modules_prepare();
	}
	if (rt_self)
		thread_walk(rt_self, 1);
}

/* Returns what is new. */
static uint64_t deny(uint64_t bits)
{
	uint64_t before = atomic_load(&sys_denied);

	if (rt.shm && bits & ~before)
		prepare(bits & ~before);
	if (bits & ~before & 1ull << BIT_SYS_clock_gettime)
		rt_lose_clock_call();
	before = atomic_fetch_or(&sys_denied, bits);
	bits &= ~before;
	rt_count(COUNTER_sandboxed, (uint64_t)__builtin_popcountll(bits & SYS_ALL));
	wait_for_blocked();
	return bits;
}

static uint64_t deny_what_it_does(const struct sock_fprog *filter)
{
	uint64_t denied = 0;

	/* The kernel will refuse what it cannot read.  What cannot be looked at is not trusted. */
	if (!SYS_ALLOWED(SYS_rt_sigprocmask))
		return deny(~0ull);
	if (!filter || !is_readable(filter, sizeof(*filter)) || !filter->len ||
	    filter->len > BPF_MAXINSNS ||
	    !is_readable(filter->filter, filter->len * sizeof(*filter->filter)))
		return 0;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!lets_through(filter, &rows[i]))
			denied |= 1ull << rows[i].bit;
	return denied ? deny(denied) : 0;
}

/* It was not installed. */
static void allow_again(uint64_t denied)
{
	int error = errno;

	atomic_fetch_and(&sys_denied, ~denied);
	rt_count(COUNTER_sandboxed, -(uint64_t)__builtin_popcountll(denied & SYS_ALL));
	errno = error;
}

/* Strict mode allows neither calls nor the processor's counter. */
static uint64_t deny_all(void)
{
	rt_lose_clock();
	return deny(~0ull);
}

int sandbox_prctl(const unsigned long *a)
{
	uint64_t denied = 0;
	int result;

	if (a[0] == SECCOMP_MODE_STRICT)
		denied = deny_all();
	else if (a[0] == SECCOMP_MODE_FILTER)
		denied = deny_what_it_does((const struct sock_fprog *)a[1]);
	result = real.prctl(PR_SET_SECCOMP, a[0], a[1], a[2], a[3]);
	if (result)
		allow_again(denied);
	return result;
}

long sandbox_syscall(long number, unsigned long operation, unsigned long flags, const void *filter,
		     long d, long e, long f)
{
	bool listens = flags & SECCOMP_FILTER_FLAG_NEW_LISTENER;
	uint64_t denied = 0;
	long result;

	if (rt.shm && operation == SECCOMP_SET_MODE_STRICT)
		denied = deny_all();
	else if (rt.shm && operation == SECCOMP_SET_MODE_FILTER)
		denied = deny_what_it_does(filter);
	result = real.syscall(number, operation, flags, filter, d, e, f);
	/* More than 0 is a descriptor, or a thread that has another filter. */
	if (result < 0 || (result > 0 && !listens))
		allow_again(denied);
	return result;
}

bool sandbox_allows_start(void)
{
	return !atomic_load(&sys_denied);
}
