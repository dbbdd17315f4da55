/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory maps: mmap, munmap and mremap as the program calls them.
 *
 * A call that fails leaves no event.  What maps is stamped after the real call and what unmaps
 * before it, so that maps at one address follow each other; but both are put into the ring after
 * it, when it is known to have worked.  Readers put these events in order by their stamps alone.
 *
 * What libc maps for itself (for large blocks, arenas, stacks of threads) comes here where its own
 * functions are hooked in place (inplace.c): maps_inside().  libc may hold any of its locks then,
 * its allocator's too.  Nothing here takes one, or waits for a thread of the program.
 *
 * The loader has functions of its own, which nobody sees.  The recorder's maps are made by system
 * calls and do not come here either. */
#include "recorder/maps.h"
#include "recorder/hooks.h"
#include "recorder/python.h"
#include "recorder/real.h"
#include "recorder/ring.h"
#include "recorder/sys.h"

#include <linux/prctl.h>
#include <stdarg.h>

#define FRAME ARCH_FRAME
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef ARCH_MAP_FLAGS
#define ARCH_MAP_FLAGS(flags) (flags)
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Hooks of ours that another library's function comes behind, which calls libc's: that is where the
 * call is recorded. */
static bool passes[CALL_COUNT];

static inline bool by_libc(const uint64_t *frame)
{
	return frame[1] - rt.libc_low < rt.libc_size;
}

static inline unsigned called_by(const uint64_t *frame)
{
	if (by_libc(frame))
		return MAP_BY_LIBC;
	return frame[1] - rt.allocator_low < rt.allocator_size ? MAP_BY_ALLOCATOR : 0;
}

/* A time that the program gave its next event is that of the allocation which libc maps for. */
static inline uint64_t map_now(const uint64_t *frame)
{
	return by_libc(frame) ? rt_now_first() : rt_now();
}

/* An allocator may come here while it starts, so nothing is started for this; nor in a forked child
 * while libc may hold its allocator's lock. */
static inline struct rt_thread *enter(enum rt_need need, const uint64_t *frame)
{
	struct rt_thread *t = rt_self;

	if (unlikely(atomic_load_explicit(&rt.state, memory_order_relaxed) != RT_ON))
		return NULL;
	if (unlikely(!t || atomic_load_explicit(&rt_live.on, memory_order_relaxed) != MODE_ON)) {
		if (by_libc(frame) && !atomic_load(&rt_live.here))
			return NULL;
		t = hooks_enter_slow(need);
	}
	return t;
}

static inline struct rt_thread *map_enter(enum rt_need need, const uint64_t *frame)
{
	return rt.maps ? enter(need, frame) : NULL;
}

static void put_map_event(struct rt_thread *t, enum event_op op, enum event_call call,
			  uint64_t stamp, const void *p, size_t length, unsigned how,
			  unsigned flags, uint32_t stack)
{
	if (ring_has_room(t))
		ring_put(t, stamp, ((uintptr_t)p & EVENT_ADDRESS_MASK) | (uint64_t)op << 56,
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
	return how | called_by(frame);
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
	struct rt_thread *t = map_enter(NEED_ON, frame);
	unsigned how;
	uint64_t stamp;

	if (!t)
		return;
	stamp = map_now(frame);
	how = how_mapped(prot, flags, frame);
	put_map_event(t, OP_MAP, call, stamp, p, length, how, ARCH_MAP_FLAGS((unsigned)flags),
		      hooks_stack(t, frame));
	if (rt.name_maps && (how & (MAP_IS_ANONYMOUS | MAP_IS_SHARED)) == MAP_IS_ANONYMOUS)
		name_map(p, length);
}

void *hook_mmap(void *hint, size_t length, int prot, int flags, int fd, off_t offset)
{
	void *p = real.mmap(hint, length, prot, flags, fd, offset);

	if (likely(p != MAP_FAILED && !passes[CALL_mmap]))
		mapped(CALL_mmap, p, length, prot, flags, FRAME);
	return p;
}

void *hook_mmap64(void *hint, size_t length, int prot, int flags, int fd, off64_t offset)
{
	void *p = real.mmap64(hint, length, prot, flags, fd, offset);

	if (likely(p != MAP_FAILED && !passes[CALL_mmap64]))
		mapped(CALL_mmap64, p, length, prot, flags, FRAME);
	return p;
}

/* A call that may end maps, from before it is made. */
struct ending {
	struct rt_thread *thread; /* NULL: not recorded */
	uint64_t stamp;
};

static inline struct ending begin_ending(const uint64_t *frame)
{
	struct ending e = { .thread = map_enter(NEED_END, frame) };

	if (e.thread)
		e.stamp = map_now(frame);
	return e;
}

static inline struct ending begin_hooked(enum event_call call, const uint64_t *frame)
{
	return likely(!passes[call]) ? begin_ending(frame) : (struct ending){ 0 };
}

static void unmapped(const struct ending *e, void *p, size_t length, int result,
		     const uint64_t *frame)
{
	python_forget_pages();
	if (e->thread && !result)
		put_map_event(e->thread, OP_UNMAP, CALL_munmap, e->stamp, p, length, 0, 0,
			      rt.stacks_on_free ? hooks_stack(e->thread, frame) : STACK_NONE);
}

int hook_munmap(void *p, size_t length)
{
	struct ending e = begin_hooked(CALL_munmap, FRAME);
	int result = real.munmap(p, length);

	unmapped(&e, p, length, result, FRAME);
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
		put_map_event(t, OP_MAP, CALL_mremap, map_now(frame), p, is, 0, (unsigned)flags,
			      stack);
}

void *hook_mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	struct ending e = begin_hooked(CALL_mremap, FRAME);
	void *to = NULL, *p;
	va_list list;

	va_start(list, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(list, void *);
	va_end(list);
	p = real.mremap(old, old_length, length, flags, to);
	python_forget_pages();
	if (e.thread && p != MAP_FAILED)
		remapped(e.thread, e.stamp, old, old_length, p, length, flags, FRAME);
	return p;
}

/* What maps nothing. */
static __attribute__((noinline)) void put_change(struct rt_thread *t, enum event_call call,
						 uint64_t stamp, uint64_t address, uint64_t size,
						 unsigned flags, uint32_t more,
						 const uint64_t *frame)
{
	uint32_t stack = hooks_stack(t, frame);

	if (ring_has_room(t))
		ring_put(t, stamp, (address & EVENT_ADDRESS_MASK) | (uint64_t)OP_CHANGE << 56,
			 (size & EVENT_SIZE_MASK) | (uint64_t)call << 48 | (uint64_t)flags << 56,
			 stack | (uint64_t)more << 32);
}

/* Where libc keeps the end of the heap it is what the kernel said last. */
static uint64_t heap_end(void)
{
	return real_break ? (uintptr_t)__atomic_load_n(real_break, __ATOMIC_RELAXED) : 0;
}

static void broke(const struct ending *e, uint64_t before, int result, const uint64_t *frame)
{
	uint64_t now = heap_end();
	unsigned flags = called_by(frame);

	python_forget_pages();
	if (!e->thread || result || !before || now == before)
		return;
	if (now < before)
		put_change(e->thread, CALL_brk, e->stamp, now, before - now, flags | CHANGE_SHRINKS,
			   0, frame);
	else if (atomic_load_explicit(&rt_live.on, memory_order_relaxed) == MODE_ON)
		put_change(e->thread, CALL_brk, map_now(frame), before, now - before, flags, 0,
			   frame);
}

int hook_brk(void *end)
{
	struct ending e = begin_hooked(CALL_brk, FRAME);
	uint64_t before = heap_end();
	int result = real.brk(end);

	broke(&e, before, result, FRAME);
	return result;
}

static void protection_changed(void *p, size_t length, int prot, const uint64_t *frame)
{
	struct rt_thread *t = map_enter(NEED_ON, frame);

	if (t)
		put_change(t, CALL_mprotect, map_now(frame), (uintptr_t)p, page_up(length),
			   how_mapped(prot, MAP_PRIVATE, frame), 0, frame);
}

int hook_mprotect(void *p, size_t length, int prot)
{
	int result = real.mprotect(p, length, prot);

	if (likely(!result && !passes[CALL_mprotect]))
		protection_changed(p, length, prot, FRAME);
	return result;
}

/* Stamped before the call, since it may give pages back. */
static void advised(const struct ending *e, void *p, size_t length, int advice, int result,
		    const uint64_t *frame)
{
	if (e->thread && !result &&
	    atomic_load_explicit(&rt_live.on, memory_order_relaxed) == MODE_ON)
		put_change(e->thread, CALL_madvise, e->stamp, (uintptr_t)p, page_up(length),
			   called_by(frame), (uint32_t)advice, frame);
}

int hook_madvise(void *p, size_t length, int advice)
{
	struct ending e = begin_hooked(CALL_madvise, FRAME);
	int result = real.madvise(p, length, advice);

	advised(&e, p, length, advice, result, FRAME);
	return result;
}

/* Recorded whether maps are or not: they are the allocator's. */
int hook_mallopt(int option, int value)
{
	int result = real.mallopt ? real.mallopt(option, value) : 0;
	struct rt_thread *t = enter(NEED_ON, FRAME);

	if (t)
		put_change(t, CALL_mallopt, rt_now(), (uint32_t)option, (uint32_t)value, 0,
			   (uint32_t)result, FRAME);
	return result;
}

int hook_malloc_trim(size_t pad)
{
	struct rt_thread *t = enter(NEED_ON, FRAME);
	uint64_t stamp = t ? rt_now() : 0;
	int result = real.malloc_trim ? real.malloc_trim(pad) : 0;

	if (t)
		put_change(t, CALL_malloc_trim, stamp, 0, pad, 0, (uint32_t)result, FRAME);
	return result;
}

static uint64_t break_inside(maps_original original, const uint64_t *a, const uint64_t *frame)
{
	struct ending e = begin_ending(frame);
	uint64_t before = heap_end();
	uint64_t result = original(a[0], a[1], a[2], a[3], a[4], a[5]);

	broke(&e, before, (int)result, frame);
	return result;
}

static uint64_t remap_inside(maps_original original, const uint64_t *a, const uint64_t *frame)
{
	struct ending e = begin_ending(frame);
	uint64_t p = original(a[0], a[1], a[2], a[3], a[4], a[5]);

	python_forget_pages();
	if (e.thread && (void *)(uintptr_t)p != MAP_FAILED)
		remapped(e.thread, e.stamp, (char *)(uintptr_t)a[0], a[1], (void *)(uintptr_t)p,
			 a[2], (int)a[3], frame);
	return p;
}

void maps_are_inside(enum event_call call, const void *original)
{
	const struct {
		enum event_call call;
		const void *real;
	} ours[] = {
		{ CALL_mmap, (const void *)real.mmap },
		{ CALL_munmap, (const void *)real.munmap },
		{ CALL_mremap, (const void *)real.mremap },
		{ CALL_brk, (const void *)real.brk },
		{ CALL_mprotect, (const void *)real.mprotect },
		{ CALL_madvise, (const void *)real.madvise },
	};

	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (ours[i].call == call)
			passes[call] = ours[i].real != original;
	if (call == CALL_mmap)
		passes[CALL_mmap64] = (const void *)real.mmap64 != original;
}

uint64_t maps_inside(enum event_call call, maps_original original, const uint64_t *a,
		     const uint64_t *frame)
{
	struct ending e;
	uint64_t result;

	switch (call) {
	case CALL_brk:
		return break_inside(original, a, frame);
	case CALL_mremap:
		return remap_inside(original, a, frame);
	case CALL_munmap:
		e = begin_ending(frame);
		result = original(a[0], a[1], a[2], a[3], a[4], a[5]);
		unmapped(&e, (void *)(uintptr_t)a[0], a[1], (int)result, frame);
		return result;
	case CALL_madvise:
		e = begin_ending(frame);
		result = original(a[0], a[1], a[2], a[3], a[4], a[5]);
		advised(&e, (void *)(uintptr_t)a[0], a[1], (int)a[2], (int)result, frame);
		return result;
	default:
		break;
	}
	result = original(a[0], a[1], a[2], a[3], a[4], a[5]);
	if (call == CALL_mmap && (void *)(uintptr_t)result != MAP_FAILED)
		mapped(call, (void *)(uintptr_t)result, a[1], (int)a[2], (int)a[3], frame);
	else if (call == CALL_mprotect && !(int)result)
		protection_changed((void *)(uintptr_t)a[0], a[1], (int)a[2], frame);
	return result;
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
