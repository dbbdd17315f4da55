/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads: a ring and a last stack for each.
 *
 * A thread registers at its first event.  Nothing runs at its end (a destructor of ours would have
 * an order among the program's own): a ring whose thread is gone is found by asking the kernel when
 * the next thread needs one, and goes on where it is, with an event that says whose it is now. */
#include "recorder/limits.h"
#include "recorder/ring.h"
#include "recorder/sys.h"

#include <linux/prctl.h>
#include <string.h>

extern void *__libc_stack_end;

static struct rt_thread *threads[SHM_MAX_RINGS]; /* by ring; under the lock */
static uint32_t scan_from;

/* Fewer events for later threads: memory stays bounded however many there are.  And for all, where
 * little is left: an eighth of what may be had. */
static unsigned ring_order(uint32_t index)
{
	size_t room = limits_room() / 8;
	uint64_t wanted = rt.shm->options.ring_events;
	unsigned order = index < FIRST_THREADS ? 15 : index < 64 ? 13 : 11;

	if (wanted) {
		order = 8;
		while (order < 22 && 1ull << order < wanted)
			order++;
	}
	while (order > 8 && SHM_RING_SIZE(order) > room)
		order--;
	return order;
}

static bool probe(const void *p)
{
	return sys_readable(p);
}

void thread_tell_walks(struct rt_thread *t)
{
	for (int i = 0; i < RT_NESTING; i++) {
		struct walk *w = t->walks[i];

		if (!w)
			continue;
		w->table = t->known;
		w->table_mask = t->known_mask;
		w->table_step = sizeof(*t->known);
	}
}

_Static_assert(SUFFIX_SETS_FIRST <= WALK_SETS_MAX, "numbers of suffixes have 16 bits");

struct walk *thread_walk(struct rt_thread *t, unsigned level)
{
	struct walk *w = t->walks[level];
	uint32_t sets = SUFFIX_SETS_LATER;
	void *memory;

	if (likely(w))
		return w;
	if (level)
		sets = SUFFIX_SETS_NESTED;
	else if (atomic_load(&rt.shm->ring_count) < FIRST_THREADS)
		sets = SUFFIX_SETS_FIRST;
	for (size_t room = limits_room() / 4;
	     sets > SUFFIX_SETS_NESTED && walk_size(rt.stack_depth, sets) > room;)
		sets /= 2;
	memory = rt_map(walk_size(rt.stack_depth, sets));
	if (!memory)
		return NULL;
	w = walk_init(memory, rt.stack_depth, sets, probe);
	w->forgetful = !rt.shm->options.shadow_stack;
	t->walks[level] = w;
	thread_tell_walks(t);
	if (level) {
		w->stack_low = t->walks[0]->stack_low;
		w->stack_high = t->walks[0]->stack_high;
	}
	return w;
}

/* Is the thread that this ring belongs to gone?  Our own id on it means that too: it was another
 * thread's with the same number. */
static bool owner_is_gone(uint32_t index, int tid)
{
	int owner = (int)atomic_load(&threads[index]->ring->owner_tid);

	return owner == tid || SYS(SYS_tgkill, rt.pid, owner, 0) == -ESRCH;
}

static struct rt_thread *take_over(int tid)
{
	uint32_t count = atomic_load(&rt.shm->ring_count);

	for (uint32_t i = 0; i < count && i < 8; i++) {
		uint32_t index = (scan_from + i) % count;

		if (owner_is_gone(index, tid)) {
			scan_from = index + 1;
			return threads[index];
		}
	}
	scan_from += 8;
	return NULL;
}

/* How far a thread's table of known stacks may grow. */
static uint64_t known_max(uint32_t index)
{
	uint64_t wanted = rt.shm->options.cache_level_1, entries = KNOWN_FIRST;

	if (!wanted)
		return index < FIRST_THREADS ? KNOWN_MAX : KNOWN_MAX_LATER;
	while (entries < wanted && entries < KNOWN_MAX * 4)
		entries *= 2;
	return entries;
}

static struct rt_thread *make_new(void)
{
	uint32_t index = atomic_load(&rt.shm->ring_count);
	unsigned order = ring_order(index);
	struct rt_thread *t;
	struct shm_ring *ring;
	uint64_t offset;

	if (index == SHM_MAX_RINGS)
		return NULL;
	t = rt_map(sizeof(*t));
	if (!t || !(t->known = rt_map(KNOWN_FIRST * sizeof(*t->known))) || !thread_walk(t, 0))
		return NULL;
	t->known_mask = KNOWN_FIRST - 1;
	thread_tell_walks(t);
	t->known_max = known_max(index);
	ring = rt_map_segment(SHM_RING_SIZE(order), &offset);
	if (!ring)
		return NULL;
	ring->order = order;
	t->ring = ring;
	t->events = ring->events;
	t->mask = (1ull << order) - 1;
	t->notify_mask = (1ull << (order - 2)) - 1;
	if (t->notify_mask >= SAMPLE_EVERY)
		t->notify_mask = SAMPLE_EVERY - 1;
	threads[index] = t;
	rt.shm->ring_offset[index] = offset;
	atomic_store_explicit(&rt.shm->ring_count, index + 1, memory_order_release);
	return t;
}

/* What the threads' private memory says is what it was at the moment of the fork; the rings are the
 * parent's and go on. */
uint32_t thread_positions(struct shm_position *out, uint32_t room)
{
	uint32_t n = 0;

	for (; n < room && threads[n]; n++) {
		const struct rt_thread *t = threads[n];
		uint64_t last = t->reserved - 1, tail = atomic_load(&t->ring->tail);

		out[n].events = t->reserved;
		out[n].stamp = 0;
		if (t->reserved && tail - last <= t->mask)
			out[n].stamp = t->events[last & t->mask].stamp;
	}
	return n;
}

static void free_thread(struct rt_thread *t)
{
	rt_unmap(t->ring, SHM_RING_SIZE(t->ring->order));
	rt_unmap(t->known, (t->known_mask + 1) * sizeof(*t->known));
	for (int i = 0; i < RT_NESTING; i++)
		if (t->walks[i])
			rt_unmap(t->walks[i],
				 walk_size(t->walks[i]->limit, t->walks[i]->suffix_mask + 1));
	rt_unmap(t, sizeof(*t));
}

void thread_forget(void)
{
	struct rt_thread *self = rt_self;

	for (uint32_t i = 0; i < SHM_MAX_RINGS && threads[i]; i++) {
		struct rt_thread *t = threads[i];

		threads[i] = NULL;
		/* If a handler forked in the middle of a hook, that hook goes on in the child too:
		 * what it writes must not reach the parent's ring. */
		if (t == self && (t->depth || t->open))
			SYS(SYS_mmap, t->ring, SHM_RING_SIZE(t->ring->order),
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		else
			free_thread(t);
	}
	scan_from = 0;
	rt_self = NULL;
}

static void announce(struct rt_thread *t)
{
	uint64_t name[2] = { 0, 0 };

	SYS(SYS_prctl, PR_GET_NAME, name);
	if (ring_has_room(t))
		ring_put(t, rt_now(), (uint64_t)(unsigned)t->tid | (uint64_t)OP_THREAD << 56,
			 name[0], name[1]);
}

struct rt_thread *thread_register(void)
{
	struct rt_lock_state lock;
	struct rt_thread *t;
	int tid = sys_gettid();
	struct sys_signals signals;
	uint64_t high, start;

	/* Nothing of it works without this: whose is it, and who has left one? */
	if (tid < 0) {
		rt_count(COUNTER_dropped_sandbox, 1);
		return NULL;
	}
	start = sys_clock_ns(CLOCK_MONOTONIC);

	/* A handler must not record before the ring says whose it is. */
	sys_block_signals(&signals);
	if (!rt_lock(&lock)) {
		rt_count(COUNTER_dropped_sandbox, 1);
		sys_restore_signals(&signals);
		return NULL;
	}
	t = take_over(tid);
	if (!t)
		t = make_new();
	if (t) {
		atomic_store(&t->ring->owner_tid, (uint32_t)tid);
		t->tid = tid;
		t->depth = t->open = 0;
		t->inside = 0;
		high = tid == rt.pid ? (uintptr_t)__libc_stack_end : arch_thread_pointer();
		for (int i = 0; i < RT_NESTING; i++)
			if (t->walks[i])
				walk_set_stack(t->walks[i], high);
		rt_self = t;
	} else {
		rt_count(atomic_load(&sys_denied) ? COUNTER_dropped_sandbox
						  : COUNTER_dropped_no_ring,
			 1);
	}
	rt_unlock(&lock);
	if (t)
		announce(t);
	rt_count(COUNTER_setup_ns, sys_clock_ns(CLOCK_MONOTONIC) - start);
	sys_restore_signals(&signals);
	return t;
}
