/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recorder's only door to the kernel.
 *
 * Raw system calls: they set no errno, are no cancellation points, take no lock, and work before
 * libc is initialised and after it has shut down.  They return what the kernel returned: a value,
 * or -errno. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "recorder/syscall.h"
#include "target/attributes.h"

/* A set of signals, as the kernel has it.  Nearly everywhere there are 64. */
#ifndef SYS_SIGNAL_WORDS
#define SYS_SIGNAL_WORDS 1
#endif
struct sys_signals {
	uint64_t words[SYS_SIGNAL_WORDS];
};
#define SYS_SIGNALS_SIZE (8 * SYS_SIGNAL_WORDS)

/* What fstat() fills in. */
#ifndef SYS_STAT
#define SYS_STAT struct stat
#endif

/* A bit for each call that is made anywhere: SYS() takes no other. */
enum sys_bit {
#define CALL(name, ...) BIT_SYS_##name,
#define AGAIN(name, ...)
#include "recorder/sys_calls.def"
	SYS_BITS
};
_Static_assert(SYS_BITS < 64, "they are one word");

/* Calls that a filter of the program's does not allow: one more could be its end.  See sandbox.c.
 */
extern _Atomic uint64_t sys_denied HIDDEN;
/* Threads that have all signals blocked by us. */
extern _Atomic uint32_t sys_blocking HIDDEN;

#define SYS_BIT_IS_CLEAR(bit)                                                                      \
	(!(atomic_load_explicit(&sys_denied, memory_order_relaxed) >> (bit)&1))
#define SYS_ALLOWED(number) SYS_BIT_IS_CLEAR(BIT_##number)
#define SYS(number, ...)                                                                           \
	(SYS_BIT_IS_CLEAR(BIT_##number) ? sys_call(number, SYS_PAD(__VA_ARGS__, 0, 0, 0, 0, 0, 0)) \
					: -EPERM)
#define SYS_PAD(a, b, c, d, e, f, ...)                                                             \
	(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)

static inline bool sys_failed(long result)
{
	return (unsigned long)result >= -4095ul;
}

/* Newer processors have the calls with a folder only; older ones' loaders make those without, which
 * a filter lets pass. */
#ifdef SYS_access
#define SYS_ACCESS(path, mode) SYS(SYS_access, path, mode)
#define SYS_READLINK(path, out, size) SYS(SYS_readlink, path, out, size)
#else
#define SYS_ACCESS(path, mode) SYS(SYS_faccessat, AT_FDCWD, path, mode)
#define SYS_READLINK(path, out, size) SYS(SYS_readlinkat, AT_FDCWD, path, out, size)
#endif

/* An offset in a file takes two words where they have 32 bits. */
#ifndef SYS_WIDE
#define SYS_WIDE(offset) offset
#endif

static inline void *sys_map_private(size_t size)
{
	long p = SYS(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return sys_failed(p) ? NULL : (void *)p;
}

static inline void sys_unmap(void *p, size_t size)
{
	SYS(SYS_munmap, p, size);
}

static inline int sys_gettid(void)
{
	return (int)SYS(SYS_gettid, 0);
}

static inline int sys_getpid(void)
{
	return (int)SYS(SYS_getpid, 0);
}

/* Not FUTEX_PRIVATE: the other side is another process. */
static inline long sys_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct __kernel_timespec t = { (int64_t)(timeout_ns / 1000000000),
				       (int64_t)(timeout_ns % 1000000000) };

	return SYS(SYS_futex, word, FUTEX_WAIT, value, &t, 0, 0);
}

static inline void sys_futex_wake(_Atomic uint32_t *word)
{
	SYS(SYS_futex, word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

/* Where it cannot be asked, time flies: a caller that waits for a while does not wait long. */
static inline uint64_t sys_clock_ns(int clock)
{
	static _Atomic uint64_t flown;
	struct __kernel_timespec t = { 0, 0 };

	if (SYS(SYS_clock_gettime, clock, &t))
		return atomic_fetch_add_explicit(&flown, 10000000, memory_order_relaxed);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* No mask has SIGKILL in it. */
#define SYS_NOT_BLOCKED (1ull << 8)

/* Where the filter does not allow it, handlers go on interrupting. */
static inline void sys_block_signals(struct sys_signals *ret_old)
{
	struct sys_signals all;

	for (unsigned i = 0; i < SYS_SIGNAL_WORDS; i++)
		all.words[i] = ~0ull;
	atomic_fetch_add(&sys_blocking, 1);
	if (!SYS(SYS_rt_sigprocmask, SIG_BLOCK, &all, ret_old, SYS_SIGNALS_SIZE))
		return;
	ret_old->words[0] = SYS_NOT_BLOCKED;
	atomic_fetch_sub(&sys_blocking, 1);
}

/* Who installs a filter waits until all have done this. */
static inline void sys_restore_signals(const struct sys_signals *old)
{
	if (old->words[0] == SYS_NOT_BLOCKED)
		return;
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)old, 0, SYS_SIGNALS_SIZE, 0, 0);
	atomic_fetch_sub(&sys_blocking, 1);
}

/* May the eight bytes at p be read?  The kernel copies the new mask before it looks at the
 * impossible `how`, so the answer costs one cheap call and changes nothing. */
static inline bool sys_readable(const void *p)
{
	/* A larger set is read from where it lies in the same page. */
	if (SYS_SIGNAL_WORDS > 1)
		p = (const void *)((uintptr_t)p & ~(uintptr_t)(SYS_SIGNALS_SIZE - 1));
	return SYS(SYS_rt_sigprocmask, ~0, p, 0, SYS_SIGNALS_SIZE) == -EINVAL;
}
