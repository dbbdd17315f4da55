/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of the recorder: its own, and the segments that it shares with the collector.
 *
 * Slow paths only.  The lock blocks all signals while it is held, so a handler on the same thread
 * never finds it taken; other threads wait in a futex.  The real allocator is never called under
 * it.
 *
 * Segments are mapped without a descriptor (the program may close or count those): mremap with an
 * old size of zero maps the same shared file once more, and beyond the old end if asked for more.
 * So each segment is reached from the one before it, which keeps what is mapped small; a mapping
 * of the whole sparse file would be filled with real pages by the program's mlockall. */
#include "recorder/rt.h"
#include "recorder/sys.h"

static _Atomic uint32_t lock_word; /* 0 free, 1 taken, 2 taken and waited for */

void rt_lock(struct rt_lock_state *s)
{
	uint32_t expected = 0;

	sys_block_signals(&s->signals);
	if (atomic_compare_exchange_strong(&lock_word, &expected, 1))
		return;
	while (atomic_exchange(&lock_word, 2))
		sys_futex_wait(&lock_word, 2, 100000000);
}

void rt_unlock(const struct rt_lock_state *s)
{
	if (atomic_exchange(&lock_word, 0) == 2)
		sys_futex_wake(&lock_word);
	sys_restore_signals(&s->signals);
}

/* Tells the collector that it is ours. */
static void note(void *p, size_t size)
{
	uint32_t i = rt.shm ? atomic_fetch_add(&rt.shm->own_count, 1) : SHM_OWN_RANGES;

	if (i >= SHM_OWN_RANGES)
		return;
	rt.shm->own[i].start = (uint64_t)p;
	atomic_store_explicit(&rt.shm->own[i].size, size, memory_order_release);
}

static void *counted(void *p, size_t size)
{
	if (!p)
		return NULL;
	rt_count(COUNTER_private_bytes, size);
	note(p, size);
	return p;
}

void *rt_map(size_t size)
{
	size = (size + 4095) & ~(size_t)4095;
	return counted(sys_map_private(size), size);
}

static char *anchor; /* the segment mapped last */
static size_t anchor_size;

/* The first segment starts at next_offset: in a forked child that is behind what it inherited. */
void rt_memory_init(struct shm_control *control)
{
	anchor = (char *)control;
	anchor_size = atomic_load(&control->next_offset);
}

void rt_memory_forget(void)
{
	atomic_store(&lock_word, 0);
}

void *rt_map_segment(size_t size, uint64_t *ret_offset)
{
	uint64_t offset = atomic_load(&rt.shm->next_offset);
	long both;
	char *segment;

	if (offset + size > rt.shm->file_size)
		return NULL;
	both = SYS(SYS_mremap, anchor, 0, anchor_size + size, MREMAP_MAYMOVE, 0);
	if (sys_failed(both))
		return NULL;
	sys_unmap((void *)both, anchor_size);
	segment = (char *)both + anchor_size;
	anchor = segment;
	anchor_size = size;
	atomic_store(&rt.shm->next_offset, offset + size);
	*ret_offset = offset;
	return segment;
}
