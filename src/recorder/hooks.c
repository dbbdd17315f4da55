/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hooks: what the program calls instead of its allocator.
 *
 * Each calls the real function with the program's own arguments and returns its answer unchanged,
 * errno included.  An allocation is recorded after the real call, a deallocation before it (see
 * wire/event.h).  Compiled with frame pointers: a hook's own frame is where the walk starts. */
#include "recorder/hooks.h"
#include "recorder/inplace.h"
#include "recorder/limits.h"
#include "recorder/python.h"
#include "recorder/real.h"
#include "recorder/ring.h"
#include "recorder/sandbox.h"

#include <linux/prctl.h>
#include <signal.h>
#include <stdarg.h>

#define FRAME ARCH_FRAME

/* The calling thread, if this call is to be recorded. */
static inline struct rt_thread *enter_if(enum rt_need need, const uint64_t *frame)
{
	struct rt_thread *t = rt_self;

	if (unlikely(!t || atomic_load_explicit(&rt_live.on, memory_order_relaxed) != MODE_ON))
		t = hooks_enter_slow(need);
	/* What the allocator calls for itself is part of the call that is being recorded.  It may
	 * jump there from the end of its function, which leaves our own hook as the caller. */
	if (unlikely(rt.watch_callers) && inplace_nested(t, frame))
		return NULL;
	return t;
}

static inline struct rt_thread *hook_enter(const uint64_t *frame)
{
	return enter_if(NEED_ON, frame);
}

/* The same for a call that ends a block: it counts while recording is off, too. */
static inline struct rt_thread *enter_to_end(const uint64_t *frame)
{
	return enter_if(NEED_END, frame);
}

/* Keeps the call before it from becoming a jump: the hook must stay on the stack, see hook_enter().
 */
#define STAY() __asm__ volatile("")

/* A hook runs inside another one on the same thread: a signal handler, or what was interrupted has
 * been left by longjmp.  Then the stack is above it again, and it will never come back. */
static __attribute__((noinline)) uint32_t nested_level(struct rt_thread *t, const uint64_t *frame)
{
	const struct walk *w = t->walks[0];
	uint64_t at = (uintptr_t)frame;

	if (at > t->busy_at && t->busy_at >= w->stack_low && at < w->stack_high) {
		t->depth = 0;
		t->open = 0;
	}
	return t->depth;
}

#ifdef MEMOIR_PARANOID
/* For the test build: every stack is also walked from scratch, and must be the same. */
static void compare_with_full_walk(struct rt_thread *t, const uint64_t *frame, uint32_t node)
{
	struct walk *w = thread_walk(t, RT_NESTING - 1);

	if (!w)
		return;
	w->stack_low = t->walks[0]->stack_low;
	w->stack_high = t->walks[0]->stack_high;
	w->top = w->frames - 1;
	w->stale = false;
	walk_slowly(w, arch_caller(frame));
	if (trie_node(t, w) != node)
		__builtin_trap();
}
#endif

static inline __attribute__((always_inline)) uint32_t
walk_to_node(struct rt_thread *t, struct walk *w, const uint64_t *frame)
{
	uint32_t node = walk_stack(w, arch_caller(frame));

	if (!node) {
		node = trie_node(t, w);
		walk_remember(w, arch_caller(frame), node);
	}
#ifdef MEMOIR_PARANOID
	if (w == t->walks[0])
		compare_with_full_walk(t, frame, node);
#endif
	return node;
}

/* The long way: modules have changed, the thread has no walk yet, or there is Python. */
static __attribute__((noinline)) uint32_t
take_stack_rarely(struct rt_thread *t, const uint64_t *frame, uint32_t level, bool unsure)
{
	uint32_t now = atomic_load_explicit(&rt.shm->module_generation, memory_order_relaxed), node;
	struct walk *w = NULL;

	if (t->generation == (rt.python ? ~now : now) || modules_refresh(t))
		w = thread_walk(t, level);
	if (!w) {
		rt_count(COUNTER_stacks_lost, 1);
		return STACK_NONE;
	}
	node = walk_to_node(t, w, frame);
	return rt.python && !level ? python_stack(t, frame, node, unsure) : node;
}

/* `unsure`: see python_stack(). */
static inline __attribute__((always_inline)) uint32_t
take_stack_if(struct rt_thread *t, const uint64_t *frame, bool unsure)
{
	uint32_t level = t->depth, node;
	struct walk *w;

	if (unlikely(level))
		level = nested_level(t, frame);
	if (unlikely(level >= RT_NESTING)) {
		rt_count(COUNTER_stacks_lost, 1);
		return STACK_NONE;
	}
	if (!level)
		t->busy_at = (uintptr_t)frame;
	*(volatile uint32_t *)&t->depth = level + 1;
	atomic_signal_fence(memory_order_seq_cst);
	w = t->walks[level];
	if (unlikely(t->generation != atomic_load_explicit(&rt.shm->module_generation,
							   memory_order_relaxed) ||
		     !w))
		node = take_stack_rarely(t, frame, level, unsure);
	else
		node = walk_to_node(t, w, frame);
	atomic_signal_fence(memory_order_seq_cst);
	*(volatile uint32_t *)&t->depth = level;
	return node;
}

static inline __attribute__((always_inline)) uint32_t take_stack(struct rt_thread *t,
								 const uint64_t *frame)
{
	return take_stack_if(t, frame, false);
}

/* Usable bytes and flags of a new block.  glibc keeps both in the word before it. */
static inline uint64_t usable_size(void *p, uint64_t *flags)
{
	if (likely(rt.glibc)) {
		size_t head = ((const size_t *)p)[-1], word = sizeof(head);

		if (unlikely(head & 2)) {
			*flags |= EVENT_MMAPPED;
			return (head & ~(size_t)7) - 2 * word;
		}
		*flags |= head & 4 ? EVENT_NON_MAIN_ARENA : 0;
		return (head & ~(size_t)7) - word;
	}
	return real.usable(p);
}

static inline __attribute__((always_inline)) void
put_alloc_stamped(struct rt_thread *t, enum event_call call, void *p, size_t size, uint64_t flags,
		  const uint64_t *frame, enum event_op op, uint64_t stamp, uint64_t usable)
{
	uint64_t slack;
	uint32_t stack = take_stack(t, frame);

	slack = usable > size ? usable - size : 0;
	if (unlikely(slack > UINT32_MAX))
		slack = UINT32_MAX;
	if (ring_has_room(t))
		ring_put(t, stamp, ((uintptr_t)p & EVENT_ADDRESS_MASK) | (uint64_t)op << 56,
			 (size & EVENT_SIZE_MASK) | (uint64_t)call << 48 | flags << 56,
			 stack | slack << 32);
}

static inline __attribute__((always_inline)) void put_alloc(struct rt_thread *t,
							    enum event_call call, void *p,
							    size_t size, uint64_t flags,
							    const uint64_t *frame, enum event_op op)
{
	uint64_t stamp = rt_now(), usable = usable_size(p, &flags);

	put_alloc_stamped(t, call, p, size, flags, frame, op, stamp, usable);
}

static inline __attribute__((always_inline)) void
put_free(struct rt_thread *t, enum event_call call, void *p, const uint64_t *frame)
{
	uint64_t stamp = rt_now();
	uint32_t stack = rt.stacks_on_free ? take_stack(t, frame) : STACK_NONE;

	if (ring_has_room(t))
		ring_put(t, stamp, ((uintptr_t)p & EVENT_ADDRESS_MASK) | (uint64_t)OP_FREE << 56,
			 (uint64_t)call << 48, stack);
}

/* malloc and free have the code inlined; for all others one copy does. */
static __attribute__((noinline)) void record_alloc(struct rt_thread *t, enum event_call call,
						   void *p, size_t size, uint64_t flags,
						   const uint64_t *frame, enum event_op op)
{
	put_alloc(t, call, p, size, flags, frame, op);
}

static __attribute__((noinline)) void record_free(struct rt_thread *t, enum event_call call,
						  void *p, const uint64_t *frame)
{
	put_free(t, call, p, frame);
}

uint32_t hooks_stack(struct rt_thread *t, const uint64_t *frame)
{
	return take_stack_if(t, frame, true);
}

/* For allocators inside the executable, which have their own word for what is usable. */
void hooks_record_alloc(struct rt_thread *t, enum event_call call, void *p, size_t size,
			uint64_t usable, uint64_t flags, const uint64_t *frame, enum event_op op)
{
	put_alloc_stamped(t, call, p, size, flags, frame, op, rt_now(), usable);
}

void hooks_record_free(struct rt_thread *t, enum event_call call, void *p, const uint64_t *frame)
{
	record_free(t, call, p, frame);
}

static void record_realloc_from(struct rt_thread *t, enum event_call call, void *p)
{
	uint64_t stamp = likely(rt.use_ticks) ? arch_ticks() : rt_now_first();

	if (ring_has_room(t))
		ring_put(t, stamp,
			 ((uintptr_t)p & EVENT_ADDRESS_MASK) | (uint64_t)OP_REALLOC_FROM << 56,
			 (uint64_t)call << 48, STACK_NONE);
}

/* A realloc that made no block: `old` is freed, or still what it was. */
static __attribute__((noinline)) void record_realloc_over(struct rt_thread *t, enum event_call call,
							  void *old, bool failed,
							  const uint64_t *frame)
{
	enum event_op op = failed ? OP_REALLOC_FAILED : OP_REALLOC_FREED;
	uint64_t stamp = rt_now();
	uint32_t stack = rt.stacks_on_free && !failed ? take_stack(t, frame) : STACK_NONE;

	if (failed)
		rt_count(COUNTER_realloc_failed, 1);
	if (ring_has_room(t))
		ring_put(t, stamp, ((uintptr_t)old & EVENT_ADDRESS_MASK) | (uint64_t)op << 56,
			 (uint64_t)call << 48, stack);
}

void hooks_record_realloc_from(struct rt_thread *t, enum event_call call, void *p)
{
	record_realloc_from(t, call, p);
}

void hooks_record_realloc_over(struct rt_thread *t, enum event_call call, void *old, bool failed,
			       const uint64_t *frame)
{
	record_realloc_over(t, call, old, failed, frame);
}

/* The end of a realloc of `old`, which was announced with OP_REALLOC_FROM. */
static void record_realloc_end(struct rt_thread *t, enum event_call call, void *old, void *p,
			       size_t size, uint64_t flags, const uint64_t *frame)
{
	if (likely(p))
		record_alloc(t, call, p, size, flags, frame, OP_REALLOC_TO);
	else
		record_realloc_over(t, call, old, size != 0, frame);
}

/* A realloc while recording is off: `old` may be a block that was recorded, and ends here; what it
 * becomes is not recorded.  NULL: it is no business of ours. */
static __attribute__((noinline)) struct rt_thread *begin_unseen(enum event_call call, void *old,
								const uint64_t *frame)
{
	struct rt_thread *t = old ? enter_to_end(frame) : NULL;

	if (t)
		record_realloc_from(t, call, old);
	return t;
}

#define ALLOCATED(call, p, size, flags)                                                            \
	do {                                                                                       \
		struct rt_thread *t_ = hook_enter(FRAME);                                          \
		if (likely(t_ && (p)))                                                             \
			record_alloc(t_, CALL_##call, p, size, flags, FRAME, OP_ALLOC);            \
	} while (0)

#define FREEING(call, p)                                                                           \
	do {                                                                                       \
		struct rt_thread *t_ = enter_to_end(FRAME);                                        \
		if (likely(t_ && (p)))                                                             \
			record_free(t_, CALL_##call, p, FRAME);                                    \
	} while (0)

void *hook_malloc(size_t size)
{
	void *p = real.malloc(size);
	struct rt_thread *t = hook_enter(FRAME);

	if (likely(t && p))
		put_alloc(t, CALL_malloc, p, size, 0, FRAME, OP_ALLOC);
	return p;
}

/* Is the loader about to map a library?  It asks for n bytes, one by one, for what it will know
 * about it.  hook_dlclose() is too late to say that addresses have changed their meaning: another
 * thread may load a library to where one was before the thread that unloaded it has come back to
 * us.  The loader's lock is held here, so whatever was unloaded is gone, and the new one is not
 * there.  Should it ever ask in another way, test_library_in_anothers_place tells. */
static inline void watch_loader(const uint64_t *frame, size_t size)
{
	if (unlikely(size == 1 && arch_caller(frame).pc - rt.loader_low < rt.loader_size))
		modules_changed();
}

void *hook_calloc(size_t n, size_t size)
{
	void *p = real.calloc(n, size);

	watch_loader(FRAME, size);
	ALLOCATED(calloc, p, n * size, EVENT_ZEROED);
	return p;
}

void *hook_realloc(void *old, size_t size)
{
	struct rt_thread *t = hook_enter(FRAME);
	void *p;

	if (unlikely(!t || !old)) {
		struct rt_thread *unseen = t ? NULL : begin_unseen(CALL_realloc, old, FRAME);

		p = real.realloc(old, size);
		if (t && p)
			record_alloc(t, CALL_realloc, p, size, 0, FRAME, OP_ALLOC);
		if (unseen)
			record_realloc_over(unseen, CALL_realloc, old, !p && size, FRAME);
		return p;
	}
	record_realloc_from(t, CALL_realloc, old);
	p = real.realloc(old, size);
	record_realloc_end(t, CALL_realloc, old, p, size, 0, FRAME);
	return p;
}

void *hook_reallocarray(void *old, size_t n, size_t size)
{
	struct rt_thread *t;
	size_t bytes;
	void *p;

	if (unlikely(real_own))
		return real.reallocarray(old, n, size); /* it calls the executable's realloc */
	t = hook_enter(FRAME);
	if (unlikely(__builtin_mul_overflow(n, size, &bytes)))
		bytes = SIZE_MAX; /* fails */
	if (unlikely(!t || !old)) {
		struct rt_thread *unseen = t ? NULL : begin_unseen(CALL_reallocarray, old, FRAME);

		p = real.reallocarray(old, n, size);
		if (t && p)
			record_alloc(t, CALL_reallocarray, p, bytes, 0, FRAME, OP_ALLOC);
		if (unseen)
			record_realloc_over(unseen, CALL_reallocarray, old, !p && bytes, FRAME);
		return p;
	}
	record_realloc_from(t, CALL_reallocarray, old);
	p = real.reallocarray(old, n, size);
	record_realloc_end(t, CALL_reallocarray, old, p, bytes, 0, FRAME);
	return p;
}

void hook_free(void *p)
{
	struct rt_thread *t = enter_to_end(FRAME);

	/* The allocator will need the block's head, which is often cold: it comes while we work. */
	__builtin_prefetch((const char *)p - 8, 1);
	if (likely(t && p))
		put_free(t, CALL_free, p, FRAME);
	real.free(p);
}

void hook_free_sized(void *p, size_t size)
{
	FREEING(free_sized, p);
	real.free_sized(p, size);
}

void hook_free_aligned_sized(void *p, size_t alignment, size_t size)
{
	FREEING(free_aligned_sized, p);
	real.free_aligned_sized(p, alignment, size);
}

int hook_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int error = real.posix_memalign(ret, alignment, size);

	if (likely(!error))
		ALLOCATED(posix_memalign, *ret, size, 0);
	return error;
}

void *hook_memalign(size_t alignment, size_t size)
{
	void *p = real.memalign(alignment, size);

	ALLOCATED(memalign, p, size, 0);
	return p;
}

void *hook_aligned_alloc(size_t alignment, size_t size)
{
	void *p = real.aligned_alloc(alignment, size);

	ALLOCATED(aligned_alloc, p, size, 0);
	return p;
}

void *hook_valloc(size_t size)
{
	void *p = real.valloc(size);

	ALLOCATED(valloc, p, size, 0);
	return p;
}

void *hook_pvalloc(size_t size)
{
	void *p = real.pvalloc(size);

	ALLOCATED(pvalloc, p, size, 0);
	return p;
}

size_t hook_malloc_usable_size(void *p)
{
	return real.malloc_usable_size(p);
}

pid_t hook_fork(void)
{
	pid_t pid;

	family_before_fork();
	pid = real.fork();

	if (!pid)
		hooks_in_child();
	return pid;
}

int hook_dlclose(void *handle)
{
	int result;

	python_before_unloading();
	result = real.dlclose(handle);
	python_after_unloading();
	modules_changed();
	return result;
}

/* To the program its signals are what they were: code that looks, and puts back what it saw, gets
 * that. */
int hook_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	int result = real.sigaction(number, action, old);

	if (!result && old && control_is_handler(old->sa_handler))
		*old = (struct sigaction){ .sa_handler = SIG_DFL };
	return result;
}

void (*hook_signal(int number, void (*handler)(int)))(int)
{
	void (*old)(int) = real.signal(number, handler);

	return control_is_handler(old) ? SIG_DFL : old;
}

/* A tail call: no frame of ours is below main(). */
int hook___libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
			   void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
			   void *stack_end)
{
	environment_show();
	return real.__libc_start_main(main, argc, argv, init, fini, loader_fini, stack_end);
}

int hook_mlockall(int flags)
{
	return limits_lock_all(flags);
}

int hook_prctl(int option, ...)
{
	unsigned long a[4];
	va_list list;
	int result;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if (rt.shm && option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
		rt_lose_clock();
	if (unlikely(rt.shm && option == PR_SET_SECCOMP))
		return sandbox_prctl(a);
	result = real.prctl(option, a[0], a[1], a[2], a[3]);
	if (!result && option == PR_SET_CHILD_SUBREAPER && a[0])
		family_adopts();
	return result;
}

/* Unwind information is known before code that needs it can run, and forgotten while it is still
 * there. */
void hook___register_frame(void *records)
{
	frames_add(records);
	if (!real.__register_frame)
		frames_find_real();
	if (real.__register_frame)
		real.__register_frame(records);
}

void hook___deregister_frame(void *records)
{
	frames_remove(records);
	if (!real.__deregister_frame)
		frames_find_real();
	if (real.__deregister_frame)
		real.__deregister_frame(records);
}

/* jemalloc's own interface. */

void hook_cfree(void *p)
{
	FREEING(cfree, p);
	real.cfree(p);
	STAY();
}

#define MALLOCX_ZERO 0x40

void *hook_mallocx(size_t size, int flags)
{
	void *p = real.mallocx(size, flags);

	ALLOCATED(mallocx, p, size, flags & MALLOCX_ZERO ? EVENT_ZEROED : 0);
	return p;
}

void *hook_rallocx(void *old, size_t size, int flags)
{
	struct rt_thread *t = hook_enter(FRAME), *unseen = NULL;
	void *p;

	if (t)
		record_realloc_from(t, CALL_rallocx, old);
	else
		unseen = begin_unseen(CALL_rallocx, old, FRAME);
	p = real.rallocx(old, size, flags);
	if (t)
		record_realloc_end(t, CALL_rallocx, old, p, size, 0, FRAME);
	else if (unseen)
		record_realloc_over(unseen, CALL_rallocx, old, !p, FRAME);
	return p;
}

/* Resizes in place; what it returns is the size that the block has now. */
size_t hook_xallocx(void *p, size_t size, size_t extra, int flags)
{
	struct rt_thread *t = hook_enter(FRAME), *unseen = t ? NULL : enter_to_end(FRAME);
	size_t before = t || unseen ? real.sallocx(p, flags) : 0;
	size_t now = real.xallocx(p, size, extra, flags);

	if (t && now != before) {
		record_realloc_from(t, CALL_xallocx, p);
		record_alloc(t, CALL_xallocx, p, now < size ? now : size, 0, FRAME, OP_REALLOC_TO);
	} else if (unseen && now != before) {
		record_realloc_from(unseen, CALL_xallocx, p);
		record_realloc_over(unseen, CALL_xallocx, p, false, FRAME);
	}
	return now;
}

size_t hook_sallocx(const void *p, int flags)
{
	return real.sallocx(p, flags);
}

size_t hook_nallocx(size_t size, int flags)
{
	return real.nallocx(size, flags);
}

void hook_dallocx(void *p, int flags)
{
	FREEING(dallocx, p);
	real.dallocx(p, flags);
	STAY();
}

void hook_sdallocx(void *p, size_t size, int flags)
{
	FREEING(sdallocx, p);
	real.sdallocx(p, size, flags);
	STAY();
}

/* C++ operators of an allocator that has its own.  The real ones may throw through us: nothing is
 * held across the call. */
#define OPERATOR_NEW(name, parameters, arguments)                                                  \
	void *hook_##name parameters                                                               \
	{                                                                                          \
		void *p = real.name arguments;                                                     \
                                                                                                   \
		ALLOCATED(name, p, size, 0);                                                       \
		return p;                                                                          \
	}
#define OPERATOR_DELETE(name, parameters, arguments)                                               \
	void hook_##name parameters                                                                \
	{                                                                                          \
		FREEING(name, p);                                                                  \
		real.name arguments;                                                               \
		STAY();                                                                            \
	}

OPERATOR_NEW(_Znwm, (size_t size), (size))
OPERATOR_NEW(_Znam, (size_t size), (size))
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
OPERATOR_NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
OPERATOR_NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))
OPERATOR_NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),
	     (size, align, tag))
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag),
	     (size, align, tag))
OPERATOR_DELETE(_ZdlPv, (void *p), (p))
OPERATOR_DELETE(_ZdaPv, (void *p), (p))
OPERATOR_DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
OPERATOR_DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag),
		(p, align, tag))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag),
		(p, align, tag))

/* The names under which the program finds them. */
#define HOOK(name, class)                                                                          \
	extern __typeof(hook_##name) name##_exported __asm__(#name)                                \
		__attribute__((alias("hook_" #name), visibility("default")));
#define PATCH(name, class)
#define HOOK_ENTRY(name, class)
#define HOOK_EXEC(name, class)
#define HOOK_MAP(name, class)
#define HOOK_END(name, class)
#include "wire/hooks.def"
#undef HOOK

const struct hook_row hook_rows[] = {
#define HOOK(name, class) { #name, (void *)hook_##name, (void **)&real.name, true },
#define PATCH(name, class) { #name, (void *)hook_##name, (void **)&real.name, false },
#include "wire/hooks.def"
#undef HOOK
};
const unsigned hook_row_count = sizeof(hook_rows) / sizeof(hook_rows[0]);
