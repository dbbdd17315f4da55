/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory order of words in the control block (recorder/memory.c): what the recorder maps is listed
 * there, and the collector reads the list meanwhile: a size that is not 0 says that the start is
 * there.  And of the recorder's lock, which counts are kept under. */
#include "order.h"

#include "recorder/memory.c"

#define MAPPINGS 1000u

struct rt rt;
_Atomic uint64_t sys_denied;
_Atomic uint32_t sys_blocking;
static struct shm_control control;
static uint64_t under_lock;

size_t limits_room(void)
{
	return SIZE_MAX;
}

void limits_taken(void *p, int64_t size)
{
}

static void *map_memory(void *argument)
{
	uint64_t state = (uintptr_t)argument;

	for (unsigned i = 0; i < MAPPINGS; i++) {
		size_t size = (1 + next_number(&state) % 3) * arch_page();
		struct rt_lock_state s;

		check(rt_map(size) != NULL);
		if (rt_lock(&s)) {
			under_lock++;
			rt_unlock(&s);
		}
	}
	return ended();
}

static void look_on(void)
{
	uint32_t count = atomic_load(&control.own_count);

	/* The newest are what may be incomplete. */
	for (uint32_t i = count > 8 ? count - 8 : 0; i < count && i < SHM_OWN_RANGES; i++) {
		uint64_t size = atomic_load_explicit(&control.own[i].size, memory_order_acquire);

		if (size)
			check(control.own[i].start && size % arch_page() == 0);
	}
}

int main(void)
{
	int status;

	rt.shm = &control;
	status = run_threads(map_memory, look_on);
	return status || under_lock != MAPPINGS * THREADS;
}
