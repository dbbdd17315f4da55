/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cached suffixes: the inner frames of stacks that were taken before, so that a stack which comes
 * again is known without walking it.
 *
 * Runs where walk.c does, on the same struct walk.  A suffix knows where the words are that it
 * rests on: those that a walk checks, from the innermost frame outwards to one of the stack that is
 * kept. It is met if all of them, the registers and that frame are what they were; that is seen by
 * one hash of 64 bits, so that a suffix takes a single cache line.  What is further out than that
 * frame is compared word by word, as in a walk.
 *
 * Where to look: programs repeat themselves, so each suffix predicts its successor from two that
 * came after it.  In a compiler it is one of these 92 times of 100; else it is found by the
 * innermost return addresses. */
#include "unwind/walk.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

#define GOLDEN 0x9e3779b97f4a7c15ull

/* A hash that suffixes are found by: of the innermost return addresses, as far as their rules are
 * at hand and simple.  A function that wraps malloc is called from many places, and so are those
 * that call it. */
static inline uint64_t found_by(const struct walk *w, struct walk_regs regs)
{
	uint64_t hash = (regs.pc ^ regs.sp << 7) * GOLDEN;

	if (regs.sp < w->stack_low)
		return hash;
	for (unsigned i = 1; i < WALK_SUFFIX_PCS; i++) {
		const struct walk_cached_rule *c = &w->rules[walk_rule_slot(regs.pc)];
		enum unwind_kind kind = rule_kind(c->rule);
		uint64_t cfa = kind == RULE_SP ? regs.sp : rule_fp_base(regs.fp),
			 saved = rule_saved(c->rule);

		cfa += (uint64_t)rule_offset(c->rule);
		if (c->key != regs.pc || (kind != RULE_SP && kind != RULE_FP) ||
		    cfa & (ARCH_WORD - 1) || cfa <= regs.sp || cfa > w->stack_high ||
		    cfa - saved < w->stack_low ||
		    (ARCH_LINK_REGISTER && arch_return_slot(cfa, c->rule) < w->stack_low))
			break;
		if (saved)
			regs.fp = rule_read_fp(regs.fp, cfa, c->rule);
		regs.pc = arch_address(rule_word(arch_return_slot(cfa, c->rule)));
		regs.sp = cfa;
		hash = (hash ^ hash >> 32 ^ regs.pc) * GOLDEN;
	}
	return hash;
}

static inline uint32_t *set_of(const struct walk *w, uint64_t hash)
{
	return &w->suffix_sets[((uint32_t)(hash >> 40) & w->suffix_mask) * WALK_SUFFIX_WAYS];
}

static inline uint64_t fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	/* Words have 32 bits, and products of two of them are what there is. */
	a = (a ^ a >> 32) * GOLDEN ^ b;
	a = (uint64_t)(uint32_t)a * (uint32_t)(b >> 32) ^ (a >> 32) * (uint32_t)b ^ a;
	return a ^ a >> 29;
#endif
}

/* A hash of all that a suffix rests on, as it is now: two words at a time, each pair with keys of
 * its own, so that the multiplications need not wait for each other. */
static inline uint64_t rests_on(const struct walk *w, const struct walk_suffix *e,
				struct walk_regs regs)
{
	static const uint64_t keys[WALK_SUFFIX_WORDS + 4] = {
		0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xd6e8feb86659fd93,
		0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3,
		0x1d8e4e27c47d124f, 0xeb44accab455d165, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
		0x27d4eb2f165667c5, 0x85ebca77c2b2ae63, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53,
		0x2127599bf4325c37, 0x880355f21e6d1965, 0x3c6ef372fe94f82b, 0xdaa66d2c7ddf743f,
		0x5851f42d4c957f2d, 0x14057b7ef767814f, 0x9fb21c651e98df25, 0xa5b85c5e198ed849,
	};
	const arch_word *sp = (const arch_word *)(uintptr_t)regs.sp;
	uint64_t identity = e->depth ? w->identities[e->depth - 1] : 0;
	uint64_t hash = fold(regs.pc ^ keys[0], regs.sp ^ keys[1]) +
			fold((e->needs_fp ? regs.fp : 0) ^ keys[2], identity ^ w->epoch ^ keys[3]);

	for (unsigned i = 0; i < e->count; i += 2)
		hash += fold(sp[e->words[i]] ^ keys[i + 4], sp[e->words[i + 1]] ^ keys[i + 5]);
	return hash;
}

static inline uint16_t tag_of(struct walk_regs regs)
{
	return (uint16_t)((regs.pc ^ regs.sp << 7) * GOLDEN >> 48);
}

/* A suffix may be of another stack register, and even of another stack that was this thread's: its
 * words are read only if they lie on the one that is. */
static inline bool is_met(const struct walk *w, const struct walk_suffix *e, struct walk_regs regs)
{
	if (e->tag != tag_of(regs) || regs.sp < w->stack_low ||
	    regs.sp + (uint64_t)ARCH_WORD * e->furthest >= w->stack_high ||
	    w->frames + e->depth > w->top + 1 || rests_on(w, e, regs) != e->hash)
		return false;
	return !e->depth || walk_checks_hold(w->checks, w->frames[e->depth - 1].checks);
}

/* The same where it is rare: less code in the way of the usual case. */
static __attribute__((noinline)) bool is_met_rarely(const struct walk *w,
						    const struct walk_suffix *e, uint64_t pc,
						    uint64_t sp, uint64_t fp)
{
	return is_met(w, e, (struct walk_regs){ pc, sp, fp });
}

/* A suffix was met, after the last one: that one keeps what mostly comes after it, and what did
 * otherwise.  The other takes its place when it was right twice. */
static inline void learn_order(struct walk *w, uint32_t index)
{
	struct walk_suffix *last = &w->suffixes[w->last_suffix];

	if (last->next == index) {
		if (!last->trusted)
			last->trusted = true;
	} else if (last->next == w->last_suffix) {
		last->next = (uint16_t)index;
	} else if (last->other != index) {
		last->other = (uint16_t)index;
		last->trusted = false;
	} else if (last->trusted) {
		last->trusted = false;
	} else {
		last->other = last->next;
		last->next = (uint16_t)index;
	}
	w->last_suffix = index;
}

/* The one that will probably be next is asked for now, and is in the cache when the next event
 * comes. */
static inline uint32_t met(struct walk *w, uint32_t index)
{
	learn_order(w, index);
	__builtin_prefetch(&w->suffixes[w->suffixes[index].next]);
	return w->suffixes[index].node;
}

/* Where the words are that the checks from `first` on are about, but for the innermost, which is
 * the pc's.  False if one is too far away. */
static bool put_words(const struct walk *w, uint32_t first, uint64_t sp, struct walk_suffix *e)
{
	uint32_t n = w->check_count - 1 - first;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t distance = ((uintptr_t)w->checks[first + i].at - sp) / ARCH_WORD;

		if (unlikely(distance >> 16))
			return false;
		e->words[i] = (uint16_t)distance;
		if (distance > e->furthest)
			e->furthest = (uint16_t)distance;
	}
	if (n % 2) {
		e->words[n] = e->words[n - 1];
		n++;
	}
	e->count = (uint8_t)n;
	return true;
}

_Static_assert(WALK_SUFFIX_WORDS % 2 == 0, "words are taken in pairs");

void walk_remember(struct walk *w, struct walk_regs regs, uint32_t node)
{
	uint64_t hash;
	uint32_t index, first;
	struct walk_suffix *e;
	/* From one frame outside the one that was met: where the frame register of a frame was
	 * saved depends on the next frame inwards, so that one has to be part of the suffix. */
	struct walk_frame *on = w->met >= w->frames ? w->met - 1 : w->met;

	if (unlikely(w->forgetful)) {
		w->top = w->frames - 1;
		return;
	}
	/* As far out as there is room for: that frame is the likelier to be there the next time. */
	while (on >= w->frames &&
	       w->check_count - (on > w->frames ? on[-1].checks : 0) <= WALK_SUFFIX_WORDS + 1)
		on--;
	first = on >= w->frames ? on->checks : 0;
	if (w->careful || w->outcome == WALK_TRUNCATED || w->top < w->frames ||
	    w->check_count - first > WALK_SUFFIX_WORDS + 1 || w->check_count == first)
		return;
	hash = found_by(w, regs);
	index = w->suffix_count % ((w->suffix_mask + 1) * WALK_SUFFIX_WAYS);
	e = &w->suffixes[index];
	*e = (struct walk_suffix){
		.node = node,
		.next = (uint16_t)index,
		.other = (uint16_t)index,
		.depth = (uint16_t)(on + 1 - w->frames),
		.needs_fp = w->top->flags & FRAME_NEEDS_FP,
	};
	if (!put_words(w, first, regs.sp, e))
		return;
	e->hash = rests_on(w, e, regs);
	e->tag = tag_of(regs);
	set_of(w, hash)[w->suffix_count++ % WALK_SUFFIX_WAYS] =
		((uint32_t)hash & ~WALK_SUFFIX_NUMBER) | index;
	learn_order(w, index);
}

uint32_t walk_another(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct walk_regs regs = { pc, sp, fp };
	const struct walk_suffix *last = &w->suffixes[w->last_suffix];
	const uint32_t *set;
	uint64_t hash;

	if (!w->careful) {
		if (is_met(w, &w->suffixes[last->next], regs))
			return met(w, last->next);
		if (is_met_rarely(w, &w->suffixes[last->other], pc, sp, fp))
			return met(w, last->other);
		hash = found_by(w, regs);
		set = set_of(w, hash);
		for (unsigned way = 0; way < WALK_SUFFIX_WAYS; way++)
			if ((set[way] ^ (uint32_t)hash) <= WALK_SUFFIX_NUMBER &&
			    is_met_rarely(w, &w->suffixes[set[way] & WALK_SUFFIX_NUMBER], pc, sp,
					  fp))
				return met(w, set[way] & WALK_SUFFIX_NUMBER);
	}
	walk_slowly(w, regs);
	return w->top->node;
}
