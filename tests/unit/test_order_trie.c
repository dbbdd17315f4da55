/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory order of the stack trie (recorder/trie.c): threads that put frames on frames, or whole
 * stacks there, and one that reads nodes as the collector does.  A frame's pc says what it was put
 * on; those of whole stacks have WHOLE in them, and are compared with the stack. */
#include "order.h"

#include "recorder/trie.c"

#define FRAMES 60000u
#define DEPTH 12u
#define WHOLE (1ull << 47)
#define KNOWN 256u

struct rt rt;
static struct shm_control control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct shm_node *) nodes; /* of the first segment */

bool rt_lock(struct rt_lock_state *s)
{
	return !pthread_mutex_lock(&lock);
}

void rt_unlock(const struct rt_lock_state *s)
{
	pthread_mutex_unlock(&lock);
}

void *rt_map(size_t size)
{
	return calloc(1, size);
}

void rt_unmap(void *p, size_t size)
{
	free(p);
}

void *rt_map_segment(size_t size, uint64_t *ret_offset)
{
	void *p = calloc(1, size);

	*ret_offset = 0;
	if (!atomic_load(&nodes))
		atomic_store(&nodes, p);
	return p;
}

void thread_tell_walks(struct rt_thread *t)
{
}

static uint64_t pc_on(uint32_t parent, uint32_t flags, uint32_t salt)
{
	return (uint64_t)parent << 16 | flags << 12 | salt;
}

static void check_node(uint32_t id, bool must_be_there)
{
	const struct shm_node *n = &atomic_load(&nodes)[id];
	uint64_t pc = atomic_load_explicit(&n->pc, memory_order_acquire);

	check(pc || !must_be_there);
	if (pc & WHOLE)
		check(n->parent < id && !(n->flags & ~(uint32_t)NODE_BEHIND));
	else if (pc)
		check(n->parent == pc >> 16 && n->flags == (pc >> 12 & 3));
}

/* Stacks that share some of their outer frames, as a walk leaves them. */
static void put_stack(struct rt_thread *t, struct walk *w, uint64_t *state)
{
	uint64_t hash = 1;
	uint32_t id;

	for (unsigned i = 0; i < DEPTH; i++) {
		uint64_t pc = WHOLE | i << 8 | (next_number(state) >> 4) % (i < 4 ? 2 : 3);

		hash = (hash ^ pc) * 0x9e3779b97f4a7c15ull;
		w->frames[i] = (struct walk_frame){ .pc = pc, .hash = hash };
	}
	w->top = &w->frames[DEPTH - 1];
	id = trie_node(t, w);
	check(id != 0);
	for (unsigned i = DEPTH; i-- > 0; id = atomic_load(&nodes)[id].parent) {
		check_node(id, true);
		check(atomic_load(&atomic_load(&nodes)[id].pc) == w->frames[i].pc);
	}
	check(id == 0);
}

static void *put_frames(void *argument)
{
	uint64_t state = (uintptr_t)argument * 0; /* all the same frames, at nearly the same time */
	uint32_t parent = 0;
	struct rt_thread t = { .known = calloc(KNOWN, sizeof(*t.known)),
			       .known_mask = KNOWN - 1,
			       .known_max = KNOWN };
	struct walk_frame frames[DEPTH];
	struct walk *w = calloc(1, sizeof(*w));

	w->frames = frames;
	for (unsigned i = 0; i < FRAMES; i++) {
		uint32_t n = next_number(&state), flags = n & 3, salt = 1 + (n >> 2) % 400;

		parent = trie_add(i % DEPTH ? parent : 0,
				  pc_on(i % DEPTH ? parent : 0, flags, salt), flags);
		check(parent != 0);
		if (i % 4 == 0 && atomic_load(&control.node_count) < SHM_NODES_PER_SEGMENT - 1000)
			put_stack(&t, w, &state);
	}
	free(w);
	free(t.known);
	return ended();
}

/* As the collector does: whatever has a pc is complete. */
static void look_on(void)
{
	uint32_t count = atomic_load(&control.node_count);

	for (uint32_t id = 1; id < count && id < SHM_NODES_PER_SEGMENT; id++)
		check_node(id, false);
}

int main(void)
{
	rt.shm = &control;
	trie_init(1);
	return run_threads(put_frames, look_on);
}
