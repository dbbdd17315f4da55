/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stack trie: which node a stack is, new nodes where it is new.
 *
 * Nodes live in shared memory, where the collector reads them; the index from (parent, pc) to a
 * node is private.  The index is a few open-addressing tables, each four times the one before;
 * only the newest takes new entries, so that none is ever rehashed and readers need no lock.  An
 * entry is one word, put in place by compare-and-swap.  Two threads that add the same frame at once
 * leave one node that nobody refers to, which is harmless.
 *
 * In front of it each thread has a small direct-mapped table from the hash of the whole stack to
 * its node: nearly every event is answered there. */
#include "recorder/rt.h"
#include "recorder/sys.h"

#define LEVELS 14
#define FIRST_SLOTS 16384ull
#define LEVELS_AHEAD 2	/* of address space, not of memory */
#define NEAR_SLOTS 64u	/* that children of nodes of the same age share */
#define NEAR_PROBES 32u /* before they go elsewhere */

struct level {
	_Atomic(_Atomic uint64_t *) slots; /* tag : 32, node : 32; 0 = free */
	uint64_t mask;
	_Atomic uint64_t count;
};

static struct level levels[LEVELS];
static _Atomic uint32_t level_count;
static _Atomic(struct shm_node *) segments[SHM_MAX_NODE_SEGMENTS];
/* A byte for each node: a bit for some eighth of all pcs, set if one of these was ever put on top
 * of it.  Most frames that are looked for are new, and this tells so without a look at the index.
 */
static _Atomic(_Atomic uint8_t *) children[SHM_MAX_NODE_SEGMENTS];

static struct shm_node *node_at(uint32_t id)
{
	return &atomic_load_explicit(&segments[id / SHM_NODES_PER_SEGMENT],
				     memory_order_acquire)[id % SHM_NODES_PER_SEGMENT];
}

static bool add_segment(void)
{
	uint32_t n = atomic_load(&rt.shm->node_segment_count);
	uint64_t offset;
	struct shm_node *segment;
	void *bits;

	if (n == SHM_MAX_NODE_SEGMENTS || !(bits = rt_map(SHM_NODES_PER_SEGMENT)))
		return false;
	segment = rt_map_segment(SHM_NODE_SEGMENT_SIZE, &offset);
	if (!segment) {
		rt_unmap(bits, SHM_NODES_PER_SEGMENT);
		return false;
	}
	atomic_store_explicit(&children[n], bits, memory_order_release);
	atomic_store_explicit(&segments[n], segment, memory_order_release);
	rt.shm->node_segment_offset[n] = offset;
	atomic_store_explicit(&rt.shm->node_segment_count, n + 1, memory_order_release);
	return true;
}

static bool add_level(void)
{
	uint32_t n = atomic_load(&level_count);
	uint64_t slots = FIRST_SLOTS << 2 * n;
	void *p;

	if (n == LEVELS || !(p = rt_map(slots * sizeof(uint64_t))))
		return false;
	levels[n].mask = slots - 1;
	atomic_store_explicit(&levels[n].slots, p, memory_order_release);
	atomic_store_explicit(&level_count, n + 1, memory_order_release);
	return true;
}

/* Called once, before any other thread can record.  Node 0 is no stack, and those up to
 * `first_node` are known to the collector from elsewhere: their memory is never touched. */
void trie_init(uint32_t first_node)
{
	struct rt_lock_state lock;
	bool ok = true;

	if (!rt_lock(&lock))
		return;
	while (ok && atomic_load(&rt.shm->node_segment_count) <= first_node / SHM_NODES_PER_SEGMENT)
		ok = add_segment();
	if (ok && add_level())
		atomic_store(&rt.shm->node_count, first_node);
	rt_unlock(&lock);
}

/* Room for as many stacks as may come: none can be had later. */
void trie_prepare(void)
{
	struct rt_lock_state lock;

	if (!rt_lock(&lock))
		return;
	add_segment();
	for (int i = 0; i < LEVELS_AHEAD; i++)
		add_level();
	rt_unlock(&lock);
}

void trie_forget(void)
{
	for (uint32_t i = 0; i < SHM_MAX_NODE_SEGMENTS && segments[i]; i++) {
		rt_unmap(segments[i], SHM_NODE_SEGMENT_SIZE);
		rt_unmap(children[i], SHM_NODES_PER_SEGMENT);
		atomic_store(&segments[i], NULL);
		atomic_store(&children[i], NULL);
	}
	for (uint32_t i = 0; i < atomic_load(&level_count); i++) {
		rt_unmap(levels[i].slots, (levels[i].mask + 1) * sizeof(uint64_t));
		atomic_store(&levels[i].slots, NULL);
		atomic_store(&levels[i].count, 0);
	}
	atomic_store(&level_count, 0);
}

/* A new node's id; 0 if there is no memory for it. */
static uint32_t new_id(void)
{
	uint32_t id = atomic_load(&rt.shm->node_count);

	for (;;) {
		if (id / SHM_NODES_PER_SEGMENT >= atomic_load(&rt.shm->node_segment_count)) {
			struct rt_lock_state lock;
			bool more = true;

			if (!rt_lock(&lock))
				return 0;
			if (id / SHM_NODES_PER_SEGMENT >= atomic_load(&rt.shm->node_segment_count))
				more = add_segment();
			rt_unlock(&lock);
			if (!more)
				return 0;
		}
		if (id && atomic_compare_exchange_weak(&rt.shm->node_count, &id, id + 1))
			return id;
		if (!id)
			return 0;
	}
}

static uint64_t hash_of(uint32_t parent, uint64_t pc, uint32_t flags)
{
	uint64_t h = (pc ^ (uint64_t)parent << 40 ^ parent ^ flags) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 32;
}

/* The n-th place in a level where a child of `parent` may be: first some that children of nodes of
 * the same age share, so that what is in use together lies together; then any, for those with many
 * children. */
static inline uint64_t place_in(const struct level *level, uint64_t hash, uint32_t parent,
				uint32_t n)
{
	uint64_t near = 2ull * parent / NEAR_SLOTS * NEAR_SLOTS + hash % NEAR_SLOTS;

	return ((n < NEAR_PROBES ? near : hash >> 3) + n) & level->mask;
}

static bool is_node(uint32_t id, uint32_t parent, uint64_t pc, uint32_t flags)
{
	struct shm_node *n = node_at(id);

	return n->parent == parent && n->flags == flags &&
	       atomic_load_explicit(&n->pc, memory_order_relaxed) == pc;
}

static uint32_t find_in(struct level *level, uint64_t hash, uint32_t parent, uint64_t pc,
			uint32_t flags)
{
	_Atomic uint64_t *slots = atomic_load_explicit(&level->slots, memory_order_acquire);
	uint64_t entry;

	for (uint32_t n = 0; (entry = atomic_load_explicit(&slots[place_in(level, hash, parent, n)],
							   memory_order_acquire));
	     n++)
		if (entry >> 32 == hash >> 32 && is_node((uint32_t)entry, parent, pc, flags))
			return (uint32_t)entry;
	return 0;
}

static _Atomic uint8_t *children_of(uint32_t id)
{
	return &atomic_load_explicit(&children[id / SHM_NODES_PER_SEGMENT],
				     memory_order_acquire)[id % SHM_NODES_PER_SEGMENT];
}

/* The node of a frame on top of `parent`. */
static uint32_t child_of(uint32_t parent, uint64_t pc, uint32_t flags)
{
	uint64_t hash = hash_of(parent, pc, flags);
	uint32_t n = atomic_load_explicit(&level_count, memory_order_acquire), id;
	_Atomic uint8_t *siblings = children_of(parent);
	uint8_t bits = atomic_load_explicit(siblings, memory_order_relaxed),
		own = 1u << (hash >> 61);
	struct level *newest;
	struct shm_node *node;

	for (uint32_t i = bits & own ? n : 0; i-- > 0;)
		if ((id = find_in(&levels[i], hash, parent, pc, flags)))
			return id;
	if (!(bits & own))
		atomic_fetch_or_explicit(siblings, own, memory_order_relaxed);

	newest = &levels[n - 1];
	if (atomic_load_explicit(&newest->count, memory_order_relaxed) * 2 > newest->mask) {
		struct rt_lock_state lock;

		if (rt_lock(&lock)) {
			if (atomic_load(&level_count) == n)
				add_level();
			rt_unlock(&lock);
		}
		newest = &levels[atomic_load(&level_count) - 1];
		if (atomic_load(&newest->count) * 4 > newest->mask * 3)
			return 0;
	}
	id = new_id();
	if (!id)
		return 0;
	node = node_at(id);
	node->parent = parent;
	node->flags = flags;
	atomic_store_explicit(&node->pc, pc, memory_order_release);

	_Atomic uint64_t *slots = atomic_load_explicit(&newest->slots, memory_order_acquire);
	uint64_t entry = 0;
	uint32_t probe = 0;

	while (!atomic_compare_exchange_strong_explicit(
		&slots[place_in(newest, hash, parent, probe)], &entry, hash >> 32 << 32 | id,
		memory_order_acq_rel, memory_order_acquire)) {
		if (entry >> 32 == hash >> 32 && is_node((uint32_t)entry, parent, pc, flags))
			return (uint32_t)entry;
		probe++;
		entry = 0;
	}
	atomic_fetch_add_explicit(&newest->count, 1, memory_order_relaxed);
	return id;
}

/* More stacks than the thread's table holds: it grows while that helps. */
static void grow_known(struct rt_thread *t)
{
	uint64_t size = t->known_mask + 1, most = t->known_max;
	struct rt_known_stack *old = t->known, *bigger;

	t->known_conflicts = 0;
	if (size >= most || t->depth > 1 || !(bigger = rt_map(size * 4 * sizeof(*bigger))))
		return;
	for (uint64_t i = 0; i < size; i++)
		bigger[old[i].hash & (size * 4 - 1)] = old[i];
	/* A handler may look at any moment: the old table goes when nothing leads to it any more.
	 */
	*(struct rt_known_stack *volatile *)&t->known = bigger;
	*(volatile uint64_t *)&t->known_mask = size * 4 - 1;
	thread_tell_walks(t);
	rt_unmap(old, page_up(size * sizeof(*old)));
}

static void remember(struct rt_thread *t, uint64_t hash, uint32_t node)
{
	struct rt_known_stack *k = &t->known[hash & t->known_mask];

	if (k->hash && ++t->known_conflicts > t->known_mask / 2) {
		grow_known(t);
		k = &t->known[hash & t->known_mask];
	}
	/* A handler may look while this is written. */
	*(volatile uint64_t *)&k->hash = 0;
	*(volatile uint32_t *)&k->node = node;
	*(volatile uint64_t *)&k->hash = hash;
}

static uint32_t flags_of(const struct walk *w, const struct walk_frame *f)
{
	uint32_t flags = f->flags & FRAME_EXACT ? NODE_EXACT : 0;

	if (f == w->frames && w->outcome == WALK_TRUNCATED)
		flags |= NODE_TRUNCATED;
	if (f == w->frames && w->outcome == WALK_BROKEN)
		flags |= NODE_BROKEN;
	return flags;
}

static uint64_t pc_of(const struct walk_frame *f)
{
	return (f->pc & 0xffffffffffffull) | (uint64_t)rule_module(f->rule) << 48;
}

uint32_t trie_add(uint32_t parent, uint64_t pc, uint32_t flags)
{
	return child_of(parent, pc, flags);
}

uint32_t trie_add_frame(uint32_t parent, const struct walk *w, const struct walk_frame *f)
{
	return child_of(parent, pc_of(f), flags_of(w, f));
}

/* Asks for the places in the index where the frames from f on will go if they are all new, which is
 * usual, and no other thread makes nodes meanwhile. */
static void foresee(const struct walk *w, const struct walk_frame *f, uint32_t parent)
{
	const struct level *newest =
		&levels[atomic_load_explicit(&level_count, memory_order_acquire) - 1];
	uint32_t next = atomic_load_explicit(&rt.shm->node_count, memory_order_relaxed);

	for (; f <= w->top; f++) {
		uint64_t hash = hash_of(parent, pc_of(f), flags_of(w, f));

		__builtin_prefetch(&newest->slots[place_in(newest, hash, parent, 0)], 1);
		parent = next++;
	}
}

/* Goes outwards to a frame whose node is known, then adds inwards what is missing. */
static __attribute__((noinline)) uint32_t look_up(struct rt_thread *t, struct walk *w)
{
	const struct rt_known_stack *outermost = &t->known[w->frames->hash & t->known_mask];
	struct walk_frame *f = w->top;
	uint32_t node = 0;

	while (f > w->frames && !f->node)
		f--;
	if (!f->node && outermost->hash == f->hash)
		f->node = outermost->node;
	if (f->node) {
		node = f->node;
	} else {
		f--;
		rt_count(COUNTER_stacks_truncated, w->outcome == WALK_TRUNCATED);
		rt_count(COUNTER_stacks_broken, w->outcome == WALK_BROKEN);
	}
	foresee(w, f + 1, node);
	while (++f <= w->top) {
		node = child_of(node, pc_of(f), flags_of(w, f));
		if (!node) {
			rt_count(COUNTER_stacks_lost, 1);
			return 0;
		}
		f->node = node;
		/* Those between are found from outside: fewer entries, fewer misses. */
		if (f == w->top || f == w->frames)
			remember(t, f->hash, node);
	}
	return node;
}

uint32_t trie_node(struct rt_thread *t, struct walk *w)
{
	struct walk_frame *top = w->top;
	const struct rt_known_stack *k = &t->known[top->hash & t->known_mask];

	if (unlikely(top < w->frames))
		return 0;
	if (likely(k->hash == top->hash))
		return top->node = k->node;
	return look_up(t, w);
}
