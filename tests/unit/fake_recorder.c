/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* See fake_recorder.h. */
#include "fake_recorder.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/futex.h"

static void *map(const struct fake *f, uint64_t offset, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, (off_t)offset);

	assert(p != MAP_FAILED);
	return p;
}

static uint64_t take(struct fake *f, size_t size)
{
	return atomic_fetch_add(&f->control->next_offset, (size + 65535) & ~(size_t)65535);
}

static struct shm_node *segments[SHM_MAX_NODE_SEGMENTS]; /* of the last fake that was made */

void fake_init(struct fake *f, const char *output)
{
	memset(segments, 0, sizeof(segments));
	f->fd = memfd_create("memoir", MFD_CLOEXEC);
	assert(f->fd >= 0 && !ftruncate(f->fd, SHM_FILE_SIZE));
	f->control = map(f, 0, SHM_CONTROL_SIZE);
	f->control->clock = CLOCK_NANOSECONDS;
	options_init(&f->control->options);
	snprintf(f->control->options.output, sizeof(f->control->options.output), "%s", output);
	atomic_store(&f->control->target_pid, (int32_t)getpid());
	atomic_store(&f->control->next_offset, SHM_CONTROL_SIZE);
	atomic_store(&f->control->node_count, 1);
	atomic_store(&f->control->module_count, 1);
	f->control->magic = SHM_MAGIC;
}

void fake_release(struct fake *f)
{
	munmap(f->control, SHM_CONTROL_SIZE);
	close(f->fd);
}

struct fake_ring fake_ring(struct fake *f, uint32_t order, uint32_t tid)
{
	uint64_t offset = take(f, SHM_RING_SIZE(order));
	struct fake_ring r = { map(f, offset, SHM_RING_SIZE(order)), 0 };
	uint32_t i = atomic_load(&f->control->ring_count);

	r.ring->order = order;
	atomic_store(&r.ring->owner_tid, tid);
	f->control->ring_offset[i] = offset;
	atomic_store_explicit(&f->control->ring_count, i + 1, memory_order_release);
	return r;
}

static struct shm_node *node(struct fake *f, uint32_t id)
{
	uint32_t s = id / SHM_NODES_PER_SEGMENT;

	if (!segments[s]) {
		uint64_t offset = take(f, SHM_NODE_SEGMENT_SIZE);

		segments[s] = map(f, offset, SHM_NODE_SEGMENT_SIZE);
		f->control->node_segment_offset[s] = offset;
		atomic_store_explicit(&f->control->node_segment_count, s + 1, memory_order_release);
	}
	return &segments[s][id % SHM_NODES_PER_SEGMENT];
}

void fake_fill_node(struct fake *f, uint32_t id, uint32_t parent, uint64_t pc)
{
	struct shm_node *n = node(f, id);

	n->parent = parent;
	atomic_store_explicit(&n->pc, pc, memory_order_release);
}

uint32_t fake_node(struct fake *f, uint32_t parent, uint64_t pc)
{
	uint32_t id = atomic_load(&f->control->node_count);

	node(f, id);
	atomic_store_explicit(&f->control->node_count, id + 1, memory_order_release);
	if (pc)
		fake_fill_node(f, id, parent, pc);
	return id;
}

uint32_t fake_module(struct fake *f, uint64_t start, uint64_t end, const char *name)
{
	uint32_t i = atomic_load(&f->control->module_count);
	struct shm_module *m;

	assert(i < SHM_MODULES_PER_SEGMENT);
	if (!atomic_load(&f->control->module_segment_count)) {
		f->control->module_segment_offset[0] = take(f, SHM_MODULE_SEGMENT_SIZE);
		atomic_store_explicit(&f->control->module_segment_count, 1, memory_order_release);
	}
	m = map(f, f->control->module_segment_offset[0], SHM_MODULE_SEGMENT_SIZE);
	m[i].bias = m[i].start = start;
	m[i].end = end;
	snprintf(m[i].name, sizeof(m[i].name), "%s", name);
	munmap(m, SHM_MODULE_SEGMENT_SIZE);
	atomic_store_explicit(&f->control->module_count, i + 1, memory_order_release);
	return i;
}

void fake_put(struct fake *f, struct fake_ring *r, const struct event *e)
{
	uint64_t capacity = 1ull << r->ring->order;

	for (;;) {
		uint32_t drained = atomic_load(&f->control->drained);

		if (r->tail - atomic_load_explicit(&r->ring->head, memory_order_acquire) < capacity)
			break;
		atomic_fetch_add(&f->control->doorbell, 1);
		futex_wake(&f->control->doorbell);
		futex_wait(&f->control->drained, drained, 10000000);
	}
	r->ring->events[r->tail & (capacity - 1)] = *e;
	r->tail++;
	atomic_store_explicit(&r->ring->tail, r->tail, memory_order_release);
	if (r->tail % (capacity / 2) == 0 && atomic_load(&f->control->asleep)) {
		atomic_fetch_add(&f->control->doorbell, 1);
		futex_wake(&f->control->doorbell);
	}
}
