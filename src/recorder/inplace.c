/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocators inside the executable, and libc's calls that map memory, hooked where they are.
 *
 * The plan is the collector's (wire/inplace.h).  It is carried out in our constructor, before any
 * code of the program and before any thread: a page near the file gets a stub and the displaced
 * instructions of each site, and the site's entry a jump to the stub.  Its own function does the
 * work; it is called through the displaced instructions.
 *
 * An allocator's functions call each other.  While one runs, the thread remembers the frame that
 * it was called from (`inside`), and a call that comes from within is part of it.  That word may be
 * stale, if an exception or longjmp left the function: so it is only believed if a walk outwards
 * leads through our own frame.  Signal handlers that interrupt an allocator call for themselves,
 * and so do other files' functions that it calls: an exception that it throws is a block too. */
#include "recorder/inplace.h"
#include "recorder/hooks.h"
#include "recorder/maps.h"
#include "recorder/patch.h"
#include "recorder/sys.h"
#include "target/elf.h"

#include <string.h>

/* Why an allocator's functions are not hooked, where the plan does not say. */
#ifdef ARCH_NO_HOOKS_IN_PLACE
#define NOT_WRITTEN ARCH_NO_HOOKS_IN_PLACE
#else
#define NOT_WRITTEN "the system does not let us change its code"
#endif

#define ANSWER_NS 5000000000ull
#define NEAR_STEP (1ull << 20)
#define NEAR_TRIES 900u
#define LIBC_CALLS 6u /* of inplace.def */

typedef uint64_t (*original_function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct site {
	original_function original;
	size_t (*usable)(const void *p, int flags); /* sallocx has the flags */
	const struct inplace_row *row;
	uint64_t low, size; /* of its file */
};

extern const char inplace_entry[] HIDDEN, inplace_returns[] HIDDEN;
uint64_t inplace_dispatch(struct inplace_call *c) HIDDEN;

static struct site sites[INPLACE_SITES];

/* With `inside` set: does this call come from the function that set it? */
static bool still_inside(struct rt_thread *t, const uint64_t *frame)
{
	uint32_t level = t->depth < RT_NESTING ? t->depth : RT_NESTING - 1;
	struct walk *w = t->walks[level] ? t->walks[level] : thread_walk(t, level);
	const struct site *s;

	if (!w || !walk_leads_to(w, arch_caller(frame), (uintptr_t)inplace_returns,
				 t->inside + PATCH_SLOT))
		return false;
	s = &sites[((const uint64_t *)(uintptr_t)t->inside)[-1] % INPLACE_SITES];
	return frame[1] - s->low < s->size;
}

bool inplace_nested(struct rt_thread *t, const uint64_t *frame)
{
	uint64_t pc = frame[1];

	if (pc - rt.allocator_low < rt.allocator_size || pc - rt.own_low < rt.own_size)
		return true;
	return t && t->inside && still_inside(t, frame);
}

static uint64_t call_original(const struct site *s, const struct inplace_call *c)
{
	const uint64_t *a = c->arguments;

	return s->original(a[0], a[1], a[2], a[3], a[4], a[5]);
}

static uint64_t argument(const struct inplace_call *c, unsigned number)
{
	return number ? c->arguments[number - 1] : 0;
}

static uint64_t size_of(const struct inplace_row *row, const struct inplace_call *c)
{
	uint64_t size = argument(c, row->size);

	if (row->count && __builtin_mul_overflow(size, argument(c, row->count), &size))
		size = UINT64_MAX; /* fails */
	return size;
}

static void record_new(struct rt_thread *t, const struct site *s, const struct inplace_call *c,
		       uint64_t block, enum event_op op)
{
	const struct inplace_row *row = s->row;
	uint64_t size = size_of(row, c), usable,
		 flags = EVENT_INSIDE | (row->flags & INPLACE_ZEROED ? EVENT_ZEROED : 0);

	if (row->flags & INPLACE_JEMALLOC && row->op == INPLACE_NEW && c->arguments[1] & 0x40)
		flags |= EVENT_ZEROED; /* MALLOCX_ZERO */
	if (row->flags & INPLACE_STRING)
		size = strlen((const char *)(uintptr_t)block) + 1;
	usable = s->usable ? s->usable((const void *)(uintptr_t)block, 0) : 0;
	hooks_record_alloc(t, row->call, (void *)(uintptr_t)block, size, usable, flags, &c->fp, op);
}

static bool is_on(void)
{
	return likely(atomic_load_explicit(&rt_live.on, memory_order_relaxed) == MODE_ON);
}

/* While recording is off the old block may be one that was recorded, and ends here. */
static uint64_t resize(struct rt_thread *t, const struct site *s, const struct inplace_call *c)
{
	uint64_t old = argument(c, s->row->pointer), p, size = size_of(s->row, c);
	bool on = is_on();

	if (!old) {
		p = call_original(s, c);
		if (p && on)
			record_new(t, s, c, p, OP_ALLOC);
		return p;
	}
	hooks_record_realloc_from(t, s->row->call, (void *)(uintptr_t)old);
	p = call_original(s, c);
	if (p && on)
		record_new(t, s, c, p, OP_REALLOC_TO);
	else
		hooks_record_realloc_over(t, s->row->call, (void *)(uintptr_t)old,
					  !p && size && !(s->row->flags & INPLACE_FREES_ON_FAILURE),
					  &c->fp);
	return p;
}

/* xallocx returns the size that the block has now, mi_expand the block or nothing. */
static uint64_t resize_in_place(struct rt_thread *t, const struct site *s,
				const struct inplace_call *c)
{
	uint64_t p = argument(c, s->row->pointer), now, size = size_of(s->row, c);
	uint64_t before = s->usable && p ? s->usable((const void *)(uintptr_t)p, 0) : 0;
	uint64_t result = call_original(s, c);

	if (!p)
		return result;
	now = s->row->flags & INPLACE_JEMALLOC ? result : result ? size : before;
	if (now == before)
		return result;
	hooks_record_realloc_from(t, s->row->call, (void *)(uintptr_t)p);
	if (is_on())
		hooks_record_alloc(t, s->row->call, (void *)(uintptr_t)p, now < size ? now : size,
				   now, EVENT_INSIDE, &c->fp, OP_REALLOC_TO);
	else
		hooks_record_realloc_over(t, s->row->call, (void *)(uintptr_t)p, false, &c->fp);
	return result;
}

static uint64_t record(struct rt_thread *t, const struct site *s, const struct inplace_call *c)
{
	uint64_t result, p;

	switch (s->row->op) {
	case INPLACE_NEW:
		result = call_original(s, c);
		if (result && is_on())
			record_new(t, s, c, result, OP_ALLOC);
		return result;
	case INPLACE_NEW_OUT:
		result = call_original(s, c);
		p = (uint32_t)result ? 0
				     : *(const uint64_t *)(uintptr_t)argument(c, s->row->pointer);
		if (p && is_on())
			record_new(t, s, c, p, OP_ALLOC);
		return result;
	case INPLACE_RESIZE:
		return resize(t, s, c);
	case INPLACE_RESIZE_IN_PLACE:
		return resize_in_place(t, s, c);
	default:
		p = argument(c, s->row->pointer);
		if (p)
			hooks_record_free(t, s->row->call, (void *)(uintptr_t)p, &c->fp);
		call_original(s, c);
		return c->result; /* it returns nothing, and may be known to leave the register
				   * alone
				   */
	}
}

uint64_t inplace_dispatch(struct inplace_call *c)
{
	const struct site *s = &sites[c->site];
	struct rt_thread *t = rt_self;
	uint64_t outer, result;

	if (s->row->group == INPLACE_LIBC)
		return maps_inside(s->row->call, s->original, c->arguments, &c->fp);
	/* Whatever it is: while recording is off, what it calls of itself must not count either. */
	if (unlikely(!t || !is_on()))
		t = hooks_enter_slow(NEED_END);
	if (unlikely(!t || inplace_nested(t, &c->fp))) {
		result = call_original(s, c);
		return s->row->op == INPLACE_END ? c->result : result;
	}
	/* A handler that interrupts here has a call of its own inside ours, and puts back what it
	 * found. */
	outer = t->inside;
	t->inside = (uintptr_t)&c->fp;
	atomic_signal_fence(memory_order_seq_cst);
	result = record(t, s, c);
	atomic_signal_fence(memory_order_seq_cst);
	t->inside = outer;
	return result;
}

/* Memory that a jump from anywhere in [low, high) reaches.  Below the file: above it the heap
 * grows. */
static uint8_t *map_near(uint64_t low, uint64_t high, size_t size)
{
	const long flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uint64_t first = low - size - 65536;

	for (unsigned i = 0; i < 2 * NEAR_TRIES; i++) {
		uint64_t at = i < NEAR_TRIES ? first - i * NEAR_STEP
					     : page_up(high) + ARCH_JUMP_REACH -
						       (i - NEAR_TRIES) * NEAR_STEP;
		long p;

		if (i < NEAR_TRIES ? at > low || high - at > 2 * ARCH_JUMP_REACH - size
				   : at + size - low > 2 * ARCH_JUMP_REACH)
			continue;
		p = SYS(SYS_mmap, at, size, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p == (long)at)
			return (uint8_t *)p;
		if (!sys_failed(p))
			sys_unmap((void *)p, size); /* an old kernel takes it as a wish */
		else if (p == -ENOMEM)
			break;
	}
	return NULL;
}

/* Is it a plan that makes sense, for what is there? */
static bool agrees(const struct shm_site *plan)
{
	bool ok = plan->displaced >= ARCH_JUMP && plan->displaced <= INPLACE_DISPLACED_MAX &&
		  plan->code_size <= INPLACE_CODE_MAX && plan->fix_count <= INPLACE_FIXES &&
		  plan->row < inplace_row_count &&
		  plan->address - plan->low < plan->high - plan->low;

	for (unsigned i = 0; ok && i < plan->fix_count; i++)
		ok = plan->fixes[i].at + 4u <= plan->code_size;
	return ok &&
	       !memcmp((const void *)(uintptr_t)plan->address, plan->original, plan->displaced);
}

static bool write_jump(const struct shm_site *plan, const uint8_t *stub)
{
	uint64_t page = page_down(plan->address);
	uint64_t size = page_up(plan->address + ARCH_JUMP) - page;
	uint8_t jump[ARCH_JUMP];

	/* Executable all the time: where code may not be changed, this is refused, and not the way
	 * back. */
	if (!patch_jump(jump, plan->address, stub) ||
	    sys_failed(SYS(SYS_mprotect, page, size, PROT_READ | PROT_WRITE | PROT_EXEC)))
		return false;
	memcpy((void *)(uintptr_t)plan->address, jump, sizeof(jump));
	patch_written((void *)(uintptr_t)plan->address, sizeof(jump));
	SYS(SYS_mprotect, page, size, plan->protection);
	return true;
}

/* Callers that have the function's address reach the original without us. */
static void replace_real(uint64_t entry, const uint8_t *original)
{
	for (unsigned i = 0; i < hook_row_count; i++)
		if ((uintptr_t)*hook_rows[i].real == entry)
			*hook_rows[i].real = (void *)original;
}

/* The sites [from, to) are those of one file. */
static unsigned install_file(const struct shm_plan *plan, unsigned from, unsigned to)
{
	const struct shm_site *first = &plan->sites[from];
	size_t size = page_up(PATCH_STUB_SIZE * (to - from + 1));
	uint8_t *page = map_near(first->low, first->high, size);
	const char *entry = inplace_entry;
	unsigned done = 0;
	bool good[INPLACE_SITES];

	if (!page)
		return 0;
	memcpy(page, &entry, sizeof(entry));
	for (unsigned i = from; i < to; i++)
		good[i] = agrees(&plan->sites[i]) &&
			  patch_stub(page, page + PATCH_STUB_SIZE * (i - from + 1), &plan->sites[i],
				     i);
	if (sys_failed(SYS(SYS_mprotect, page, size, PROT_READ | PROT_EXEC)))
		return 0;
	for (unsigned i = from; i < to; i++) {
		const struct shm_site *p = &plan->sites[i];
		uint8_t *stub = page + PATCH_STUB_SIZE * (i - from + 1);

		if (!good[i])
			continue;
		sites[i] = (struct site){
			.original = (original_function)(void *)(stub + PATCH_STUB_CODE),
			.usable = (size_t(*)(const void *, int))(void *)(uintptr_t)p->usable,
			.row = &inplace_rows[p->row],
			.low = p->low,
			.size = p->high - p->low,
		};
		if (!write_jump(p, stub))
			continue;
		replace_real(p->entry, stub + PATCH_STUB_CODE);
		if (sites[i].row->group == INPLACE_LIBC)
			maps_are_inside(sites[i].row->call, stub + PATCH_STUB_CODE);
		done++;
	}
	return done;
}

/* Asks the collector, and waits for it as long as it lives. */
static struct shm_plan *ask_for_plan(void)
{
	struct shm_control *shm = rt.shm;
	uint64_t deadline = sys_clock_ns(CLOCK_MONOTONIC) + ANSWER_NS;

	shm->plan.executable = (uintptr_t)_r_debug.r_map->l_ld;
	shm->plan.libc = rt.maps ? rt.libc_low : 0;
	atomic_store(&shm->plan.request, 1);
	atomic_fetch_add(&shm->doorbell, 1);
	sys_futex_wake(&shm->doorbell);
	while (!atomic_load(&shm->plan.done)) {
		if (atomic_load(&shm->state) != SHM_READY ||
		    sys_clock_ns(CLOCK_MONOTONIC) > deadline)
			return NULL;
		sys_futex_wait(&shm->plan.done, 0, 50000000);
	}
	return &shm->plan;
}

static bool is_of_libc(const struct shm_plan *plan, unsigned site)
{
	return plan->sites[site].row < inplace_row_count &&
	       inplace_rows[plan->sites[site].row].group == INPLACE_LIBC;
}

/* How many of libc's calls are seen now. */
static void note_libc(const struct shm_plan *plan, unsigned count, unsigned done)
{
	if (!plan || !plan->libc)
		return;
	rt.libc_maps = done == LIBC_CALLS ? LIBC_MAPS_SEEN
		       : done < count	  ? LIBC_MAPS_REFUSED
					  : LIBC_MAPS_IN_PART;
	atomic_store(&rt.shm->libc_maps, rt.libc_maps);
}

void inplace_install(void)
{
	struct shm_plan *plan = ask_for_plan();
	unsigned all = plan ? plan->site_count : 0, count[2] = { 0 }, done[2] = { 0 };

	if (all > INPLACE_SITES)
		all = INPLACE_SITES;
	for (unsigned from = 0, to; from < all; from = to) {
		bool libc = is_of_libc(plan, from);

		for (to = from + 1; to < all && plan->sites[to].low == plan->sites[from].low;)
			to++;
		count[libc] += to - from;
		done[libc] += install_file(plan, from, to);
	}
	note_libc(plan, count[true], done[true]);
	rt.watch_callers |= done[false] > 0;
	if (real_own && !done[false])
		say("nothing is recorded: the program brings a malloc of its own inside its "
		    "executable, and it cannot be hooked: ",
		    !plan	       ? "the collector does not answer"
		    : plan->warning[0] ? plan->warning
				       : NOT_WRITTEN);
	else if (plan && plan->allocator[0] && plan->warning[0])
		say("not everything is recorded: ", plan->warning);
	else if (done[false] < count[false])
		say("not everything is recorded: the system does not let us change the code of ",
		    plan->allocator);
}
