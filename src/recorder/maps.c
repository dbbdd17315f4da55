/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory maps: mmap, munmap and mremap as the program calls them.
 *
 * A call that fails leaves no event.  What maps is stamped after the real call and what unmaps
 * before it, so that maps at one address follow each other; but both are put into the ring after
 * it, when it is known to have worked.  Readers put these events in order by their stamps alone.
 *
 * What libc maps for itself (for large blocks, arenas, stacks of threads, libraries) does not come
 * here: nobody can tell from outside that part of its code was meant.  The recorder's own maps are
 * made by system calls and do not come here either. */
#include "recorder/hooks.h"
#include "recorder/python.h"
#include "recorder/real.h"
#include "recorder/ring.h"
#include "recorder/sys.h"

#include <linux/prctl.h>
#include <stdarg.h>

#define FRAME ((const uint64_t *)__builtin_frame_address(0))
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* An allocator may come here while it starts, so nothing is started for this. */
static inline struct rt_thread *map_enter(enum rt_need need)
{
	struct rt_thread *t = rt_self;

	if (unlikely(atomic_load_explicit(&rt.state, memory_order_relaxed) != RT_ON || !rt.maps))
		return NULL;
	if (unlikely(!t || atomic_load_explicit(&rt_live.on, memory_order_relaxed) != MODE_ON))
		t = hooks_enter_slow(need);
	return t;
}

static void put_map_event(struct rt_thread *t, enum event_op op, enum event_call call,
			  uint64_t stamp, const void *p, size_t length, unsigned how,
			  unsigned flags, uint32_t stack)
{
	if (ring_has_room(t))
		ring_put(t, stamp, ((uint64_t)p & EVENT_ADDRESS_MASK) | (uint64_t)op << 56,
			 (page_up(length) & EVENT_SIZE_MASK) | (uint64_t)call << 48 |
				 (uint64_t)how << 56,
			 stack | (uint64_t)flags << 32);
}

static unsigned how_mapped(int prot, int flags, const uint64_t *frame)
{
	unsigned how = 0, type = (unsigned)flags & 3; /* MAP_SHARED_VALIDATE has both bits */

	how |= prot & PROT_READ ? MAP_CAN_READ : 0;
	how |= prot & PROT_WRITE ? MAP_CAN_WRITE : 0;
	how |= prot & PROT_EXEC ? MAP_CAN_EXECUTE : 0;
	how |= type != MAP_PRIVATE ? MAP_IS_SHARED : 0;
	how |= flags & MAP_ANONYMOUS ? MAP_IS_ANONYMOUS : 0;
	how |= frame[1] - rt.allocator_low < rt.allocator_size ? MAP_BY_ALLOCATOR : 0;
	return how;
}

/* A name of its own keeps the kernel from making one region of two maps.  A kernel that has no such
 * names says no, and nothing is different. */
static void name_map(const void *p, size_t length)
{
	static _Atomic uint64_t count;
	uint64_t n = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
	char name[32] = "mmap::", digits[20];
	unsigned at = 6, i = 0;

	for (; n; n /= 10)
		digits[i++] = (char)('0' + n % 10);
	while (i)
		name[at++] = digits[--i];
	name[at] = 0;
	SYS(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, page_up(length), name);
}

static __attribute__((noinline)) void mapped(enum event_call call, void *p, size_t length, int prot,
					     int flags, const uint64_t *frame)
{
	struct rt_thread *t = map_enter(NEED_ON);
	unsigned how;
	uint64_t stamp;

	if (!t)
		return;
	stamp = rt_now();
	how = how_mapped(prot, flags, frame);
	put_map_event(t, OP_MAP, call, stamp, p, length, how, (unsigned)flags,
		      hooks_stack(t, frame));
	if (rt.name_maps && (how & (MAP_IS_ANONYMOUS | MAP_IS_SHARED)) == MAP_IS_ANONYMOUS)
		name_map(p, length);
}

void *hook_mmap(void *hint, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *p = real.mmap(hint, length, prot, flags, fd, offset);

	if (likely(p != MAP_FAILED))
		mapped(CALL_mmap, p, length, prot, flags, FRAME);
	return p;
}

void *hook_mmap64(void *hint, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *p = real.mmap64(hint, length, prot, flags, fd, offset);

	if (likely(p != MAP_FAILED))
		mapped(CALL_mmap64, p, length, prot, flags, FRAME);
	return p;
}

int hook_munmap(void *p, size_t length)
{
	struct rt_thread *t = map_enter(NEED_END);
	uint64_t stamp = t ? rt_now() : 0;
	int result = real.munmap(p, length);

	python_forget_pages();

	if (t && !result)
		put_map_event(t, OP_UNMAP, CALL_munmap, stamp, p, length, 0, 0,
			      rt.stacks_on_free ? hooks_stack(t, FRAME) : STACK_NONE);
	return result;
}

/* What was at `old` has ended, and what is at `p` has begun; of what shrank in place only the rest
 * has ended. */
static __attribute__((noinline)) void remapped(struct rt_thread *t, uint64_t before, char *old,
					       size_t old_length, void *p, size_t length, int flags,
					       const uint64_t *frame)
{
	uint64_t was = page_up(old_length), is = page_up(length);
	uint32_t stack = hooks_stack(t, frame);

	if (p == old && is == was)
		return;
	if (p == old && is < was) {
		put_map_event(t, OP_UNMAP, CALL_mremap, before, old + is, was - is, 0,
			      (unsigned)flags, rt.stacks_on_free ? stack : STACK_NONE);
		return;
	}
	/* The old one stays where it is if its size was said to be 0, which only duplicates it. */
	if (was && !(flags & MREMAP_DONTUNMAP))
		put_map_event(t, OP_UNMAP, CALL_mremap, before, old, was, 0, (unsigned)flags,
			      rt.stacks_on_free ? stack : STACK_NONE);
	if (atomic_load_explicit(&rt_live.on, memory_order_relaxed) == MODE_ON)
		put_map_event(t, OP_MAP, CALL_mremap, rt_now(), p, is, 0, (unsigned)flags, stack);
}

void *hook_mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	struct rt_thread *t = map_enter(NEED_END);
	uint64_t stamp = t ? rt_now() : 0;
	void *to = NULL, *p;
	va_list list;

	va_start(list, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(list, void *);
	va_end(list);
	p = real.mremap(old, old_length, length, flags, to);
	python_forget_pages();
	if (t && p != MAP_FAILED)
		remapped(t, stamp, old, old_length, p, length, flags, FRAME);
	return p;
}

#define HOOK(name, class)
#define PATCH(name, class)
#define HOOK_ENTRY(name, class)
#define HOOK_EXEC(name, class)
#define HOOK_END(name, class)
#define HOOK_MAP(name, class)                                                                      \
	extern __typeof(hook_##name) name##_exported __asm__(#name)                                \
		__attribute__((alias("hook_" #name), visibility("default")));
#include "wire/hooks.def"
#undef HOOK
