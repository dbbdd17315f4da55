/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stack trie: which node a stack is, new nodes where it is new.
 *
 * Nodes live in shared memory, where the collector reads them; the index from (parent, pc) to a
 * node is private.  The frames that a new stack shares with no other are made in one go, under
 * consecutive numbers: each but the first is found as the node behind its parent (NODE_BEHIND), and
 * the first ones alone are in the index.  That is a few open-addressing tables, each four times the
 * one before; only the newest takes new entries, so that none is ever rehashed and readers need no
 * lock.  An entry is one word, put in place by compare-and-swap.  Two threads that add the same
 * frames at once leave nodes that nobody refers to, which is harmless.
 *
 * In front of it each thread has a small direct-mapped table from the hash of the whole stack to
 * its node, for those that come again when they are no longer among the suffixes. */
#include "recorder/rt.h"
#include "recorder/sys.h"

#define LEVELS 14
#define FIRST_SLOTS 65536ull
#define LEVELS_AHEAD 2 /* of address space, not of memory */
#define CHILDREN_SIZE (SHM_NODES_PER_SEGMENT * sizeof(uint32_t))
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
/* A word for each node: a bit for some 32nd of all pcs, set if one of these was ever put on top of
 * it.  Most frames that are looked for are new, and this tells so without a look at the index. */
static _Atomic(_Atomic uint32_t *) children[SHM_MAX_NODE_SEGMENTS];

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

	if (n == SHM_MAX_NODE_SEGMENTS || !(bits = rt_map(CHILDREN_SIZE)))
		return false;
	segment = rt_map_segment(SHM_NODE_SEGMENT_SIZE, &offset);
	if (!segment) {
		rt_unmap(bits, CHILDREN_SIZE);
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
		rt_unmap(children[i], CHILDREN_SIZE);
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

/* The first of n new nodes' ids, n being less than a segment has; 0 if there is no memory. */
static uint32_t new_ids(uint32_t n)
{
	uint32_t id = atomic_load(&rt.shm->node_count);

	for (;;) {
		uint32_t segment = (id + n - 1) / SHM_NODES_PER_SEGMENT;

		if (segment >= atomic_load(&rt.shm->node_segment_count)) {
			struct rt_lock_state lock;
			bool more = true;

			if (!rt_lock(&lock))
				return 0;
			if (segment >= atomic_load(&rt.shm->node_segment_count))
				more = add_segment();
			rt_unlock(&lock);
			if (!more)
				return 0;
		}
		if (id && atomic_compare_exchange_weak(&rt.shm->node_count, &id, id + n))
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
	uint64_t near = parent / NEAR_SLOTS * NEAR_SLOTS + hash % NEAR_SLOTS;

	return ((n < NEAR_PROBES ? near : hash >> 3) + n) & level->mask;
}

/* The pc first: a node that has none, or another one, may be filled this very moment. */
static bool is_node(const struct shm_node *n, uint32_t parent, uint64_t pc, uint32_t flags)
{
	return atomic_load_explicit(&n->pc, memory_order_acquire) == pc && n->parent == parent &&
	       n->flags == flags;
}

/* Is it the node behind its parent? */
static bool is_behind(uint32_t parent, uint64_t pc, uint32_t flags)
{
	uint32_t id = parent + 1;
	const struct shm_node *segment =
		atomic_load_explicit(&segments[id / SHM_NODES_PER_SEGMENT], memory_order_acquire);

	return segment &&
	       is_node(&segment[id % SHM_NODES_PER_SEGMENT], parent, pc, flags | NODE_BEHIND);
}

static uint32_t find_in(struct level *level, uint64_t hash, uint32_t parent, uint64_t pc,
			uint32_t flags)
{
	_Atomic uint64_t *slots = atomic_load_explicit(&level->slots, memory_order_acquire);
	uint64_t entry;

	for (uint32_t n = 0; (entry = atomic_load_explicit(&slots[place_in(level, hash, parent, n)],
							   memory_order_acquire));
	     n++)
		if (entry >> 32 == hash >> 32 &&
		    is_node(node_at((uint32_t)entry), parent, pc, flags))
			return (uint32_t)entry;
	return 0;
}

static _Atomic uint32_t *children_of(uint32_t id)
{
	return &atomic_load_explicit(&children[id / SHM_NODES_PER_SEGMENT],
				     memory_order_acquire)[id % SHM_NODES_PER_SEGMENT];
}

static uint32_t child_bit(uint64_t hash)
{
	return 1u << (hash >> 59);
}

static bool may_have_child(uint32_t parent, uint64_t hash)
{
	return atomic_load_explicit(children_of(parent), memory_order_relaxed) & child_bit(hash);
}

/* The node of a frame on top of `parent`, or 0. */
static uint32_t find_child(uint32_t parent, uint64_t pc, uint32_t flags)
{
	uint64_t hash = hash_of(parent, pc, flags);
	uint32_t id;

	if (!may_have_child(parent, hash))
		return 0;
	if (is_behind(parent, pc, flags))
		return parent + 1;
	for (uint32_t i = atomic_load_explicit(&level_count, memory_order_acquire); i-- > 0;)
		if ((id = find_in(&levels[i], hash, parent, pc, flags)))
			return id;
	return 0;
}

/* The level that takes new entries, with room for one more; NULL: no memory. */
static struct level *level_with_room(void)
{
	uint32_t n = atomic_load_explicit(&level_count, memory_order_acquire);
	struct level *newest = &levels[n - 1];
	struct rt_lock_state lock;

	if (likely(atomic_load_explicit(&newest->count, memory_order_relaxed) * 2 <= newest->mask))
		return newest;
	if (rt_lock(&lock)) {
		if (atomic_load(&level_count) == n)
			add_level();
		rt_unlock(&lock);
	}
	newest = &levels[atomic_load(&level_count) - 1];
	return atomic_load(&newest->count) * 4 > newest->mask * 3 ? NULL : newest;
}

static void fill_node(uint32_t id, uint32_t parent, uint64_t pc, uint32_t flags)
{
	struct shm_node *node = node_at(id);

	node->parent = parent;
	node->flags = flags;
	atomic_store_explicit(&node->pc, pc, memory_order_release);
}

/* Puts a filled node into the index.  Returns its id, or that of one that another thread put there
 * first. */
static uint32_t publish(struct level *level, uint64_t hash, uint32_t id, uint32_t parent,
			uint64_t pc, uint32_t flags)
{
	_Atomic uint64_t *slots = atomic_load_explicit(&level->slots, memory_order_acquire);
	uint64_t entry = 0;
	uint32_t probe = 0;

	if (!may_have_child(parent, hash))
		atomic_fetch_or_explicit(children_of(parent), child_bit(hash),
					 memory_order_relaxed);
	while (!atomic_compare_exchange_strong_explicit(
		&slots[place_in(level, hash, parent, probe)], &entry, hash >> 32 << 32 | id,
		memory_order_acq_rel, memory_order_acquire)) {
		if (entry >> 32 == hash >> 32 &&
		    is_node(node_at((uint32_t)entry), parent, pc, flags))
			return (uint32_t)entry;
		probe++;
		entry = 0;
	}
	atomic_fetch_add_explicit(&level->count, 1, memory_order_relaxed);
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
	uint32_t id = find_child(parent, pc, flags);
	struct level *level;

	if (id)
		return id;
	level = level_with_room();
	if (!level || !(id = new_ids(1)))
		return 0;
	fill_node(id, parent, pc, flags);
	return publish(level, hash_of(parent, pc, flags), id, parent, pc, flags);
}

uint32_t trie_add_frame(uint32_t parent, const struct walk *w, const struct walk_frame *f)
{
	return trie_add(parent, pc_of(f), flags_of(w, f));
}

/* Makes nodes of the frames from `first` on, which is not on top of `parent` yet.  Returns the
 * node of `first`: another thread's, if that was quicker, and then those behind it are not known;
 * 0 if there is no memory. */
static uint32_t add_frames(const struct walk *w, struct walk_frame *first, uint32_t parent)
{
	uint64_t pc = pc_of(first), hash;
	uint32_t flags = flags_of(w, first), count = (uint32_t)(w->top - first) + 1, id, found;
	struct level *level = level_with_room();

	if (!level)
		return 0;
	hash = hash_of(parent, pc, flags);
	__builtin_prefetch(&level->slots[place_in(level, hash, parent, 0)], 1);
	id = new_ids(count);
	if (!id)
		return 0;
	fill_node(id, parent, pc, flags);
	for (uint32_t i = 1; i < count; i++) {
		const struct walk_frame *f = first + i;
		uint64_t own = hash_of(id + i - 1, pc_of(f), flags_of(w, f));

		fill_node(id + i, id + i - 1, pc_of(f), flags_of(w, f) | NODE_BEHIND);
		/* Nobody has this parent before the first of them is published. */
		atomic_store_explicit(children_of(id + i - 1), child_bit(own),
				      memory_order_relaxed);
	}
	found = publish(level, hash, id, parent, pc, flags);
	for (uint32_t i = 0; found == id && i < count; i++)
		first[i].node = id + i;
	return first->node = found;
}

/* Adds inwards what is missing from frame f on, to be put on `parent`.  0 if there is no memory. */
static uint32_t add_missing(struct walk *w, struct walk_frame *f, uint32_t parent)
{
	for (; f <= w->top; parent = f++->node) {
		f->node = find_child(parent, pc_of(f), flags_of(w, f));
		if (f->node)
			continue;
		if (!add_frames(w, f, parent)) {
			rt_count(COUNTER_stacks_lost, 1);
			return 0;
		}
		if (w->top->node)
			break;
	}
	return w->top->node;
}

/* The node of the outermost frame of all.  False: no memory. */
static bool find_outermost(struct rt_thread *t, struct walk *w)
{
	struct walk_frame *f = w->frames;
	const struct rt_known_stack *k = &t->known[f->hash & t->known_mask];

	if (k->hash == f->hash) {
		f->node = k->node;
		return true;
	}
	rt_count(COUNTER_stacks_truncated, w->outcome == WALK_TRUNCATED);
	rt_count(COUNTER_stacks_broken, w->outcome == WALK_BROKEN);
	f->node = trie_add_frame(0, w, f);
	if (f->node)
		remember(t, f->hash, f->node);
	else
		rt_count(COUNTER_stacks_lost, 1);
	return f->node != 0;
}

/* From the innermost frame whose node is known inwards.  Most stacks that get here are new, which
 * a bit tells at the first frame that they do not share with the last one; what is known of whole
 * stacks is not looked at then.  One that came a second time is remembered: before that it is among
 * the suffixes. */
uint32_t trie_node(struct rt_thread *t, struct walk *w)
{
	struct walk_frame *top = w->top, *f = top;
	const struct rt_known_stack *k;
	uint32_t node;

	if (unlikely(top < w->frames))
		return 0;
	while (f > w->frames && !f->node)
		f--;
	if (f == top && f->node)
		return f->node;
	if (likely(f->node) &&
	    !may_have_child(f->node, hash_of(f->node, pc_of(f + 1), flags_of(w, f + 1))))
		return add_missing(w, f + 1, f->node);
	k = &t->known[top->hash & t->known_mask];
	if (k->hash == top->hash)
		return top->node = k->node;
	if (!f->node && !find_outermost(t, w))
		return 0;
	node = add_missing(w, f + 1, f->node);
	if (node)
		remember(t, top->hash, node);
	return node;
}
