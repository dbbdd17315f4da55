/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of the recorder: its own, and the segments that it shares with the collector.
 *
 * Slow paths only.  The lock blocks all signals while it is held, so a handler on the same thread
 * never finds it taken; other threads wait in a futex.  The real allocator is never called under
 * it.  Where a filter of the program's forbids to block signals, a handler may find it taken by
 * what it has interrupted: it does without.  Where one forbids to wait, nobody waits long.
 *
 * Segments are mapped without a descriptor (the program may close or count those): mremap with an
 * old size of zero maps the same shared file once more, and beyond the old end if asked for more.
 * So each segment is reached from the one before it, which keeps what is mapped small; a mapping
 * of the whole sparse file would be filled with real pages by the program's mlockall. */
#include "recorder/limits.h"
#include "recorder/rt.h"
#include "recorder/sys.h"

#define WAITED_FOR (1u << 31)
#define SPINS (1u << 20)

static _Atomic uint32_t lock_word; /* 0: free; else who has it, and whether somebody waits */
static _Atomic uint32_t lock_lost; /* by one who has left it with longjmp, as it seems */

/* No two threads have their thread pointers in one pair of pages. */
static uint32_t lock_owner(void)
{
	return (uint32_t)(arch_thread_pointer() >> 12 & (WAITED_FOR - 1)) | 1;
}

/* `seen` is what the lock was, with WAITED_FOR.  False: enough. */
static bool lock_wait(uint32_t seen, uint32_t *spins)
{
	if (SYS_ALLOWED(SYS_futex)) {
		sys_futex_wait(&lock_word, seen, 100000000);
		return true;
	}
	if (atomic_load_explicit(&lock_lost, memory_order_relaxed) || ++*spins > SPINS) {
		atomic_store(&lock_lost, 1);
		return false;
	}
	arch_pause();
	return true;
}

bool rt_lock(struct rt_lock_state *s)
{
	uint32_t self = lock_owner(), now = 0, spins = 0;

	sys_block_signals(&s->signals);
	if (atomic_compare_exchange_strong(&lock_word, &now, self))
		return true;
	for (;;) {
		if (!now) {
			if (atomic_compare_exchange_strong(&lock_word, &now, self | WAITED_FOR)) {
				atomic_store_explicit(&lock_lost, 0, memory_order_relaxed);
				return true;
			}
			continue;
		}
		if ((now & ~WAITED_FOR) == self)
			break;
		if (!(now & WAITED_FOR) &&
		    !atomic_compare_exchange_strong(&lock_word, &now, now | WAITED_FOR))
			continue;
		if (!lock_wait(now | WAITED_FOR, &spins))
			break;
		now = atomic_load(&lock_word);
	}
	sys_restore_signals(&s->signals);
	return false;
}

void rt_unlock(const struct rt_lock_state *s)
{
	if (atomic_exchange(&lock_word, 0) & WAITED_FOR)
		sys_futex_wake(&lock_word);
	sys_restore_signals(&s->signals);
}

/* Tells the collector that it is ours. */
static void note_own_memory(void *p, size_t size)
{
	uint32_t i = rt.shm ? atomic_fetch_add(&rt.shm->own_count, 1) : SHM_OWN_RANGES;

	if (i >= SHM_OWN_RANGES)
		return;
	rt.shm->own[i].start = (uintptr_t)p;
	atomic_store_explicit(&rt.shm->own[i].size, size, memory_order_release);
}

static void *counted(void *p, size_t size)
{
	if (!p)
		return NULL;
	limits_taken(p, (int64_t)size);
	rt_count(COUNTER_private_bytes, size);
	note_own_memory(p, size);
	return p;
}

void *rt_map(size_t size)
{
	size = page_up(size);
	return size <= limits_room() ? counted(sys_map_private(size), size) : NULL;
}

void rt_unmap(void *p, size_t size)
{
	size = page_up(size);
	sys_unmap(p, size);
	limits_taken(p, -(int64_t)size);
}

static char *anchor; /* the segment mapped last */
static size_t anchor_size;

/* The first segment starts at next_offset: in a forked child that is behind what it inherited. */
void rt_memory_init(struct shm_control *control)
{
	limits_taken(control, SHM_CONTROL_SIZE);
	anchor = (char *)control;
	anchor_size = atomic_load(&control->next_offset);
}

void rt_memory_forget(void)
{
	atomic_store(&lock_word, 0);
	atomic_store(&sys_blocking, 0);
}

void *rt_map_segment(size_t size, uint64_t *ret_offset)
{
	uint64_t offset = atomic_load(&rt.shm->next_offset);
	long both;
	char *segment;

	if (offset + size > rt.shm->file_size || size > limits_room())
		return NULL;
	both = SYS(SYS_mremap, anchor, 0, anchor_size + size, MREMAP_MAYMOVE, 0);
	if (sys_failed(both))
		return NULL;
	sys_unmap((void *)both, anchor_size);
	segment = (char *)both + anchor_size;
	limits_taken(segment, (int64_t)size);
	anchor = segment;
	anchor_size = size;
	atomic_store(&rt.shm->next_offset, offset + size);
	*ret_offset = offset;
	return segment;
}
