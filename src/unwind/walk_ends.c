/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The inner ends of stacks that were taken before, so that a stack which comes again is known
 * without walking it.
 *
 * Runs where walk.c does, on the same struct walk.  An end holds the words that it rests on, as the
 * checks of a walk are, from the innermost frame outwards to one of the stack that is kept; it is
 * met if they all are what they were and that frame is the same.
 *
 * Where to look: programs repeat themselves, so each end knows two that came after it.  In a
 * compiler it is one of these 92 times of 100; else it is found by the hash of the innermost return
 * addresses. */
#include "unwind/walk.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* By the innermost return addresses, as far as their rules are at hand and simple: a function that
 * wraps malloc is called from many places, and so are those that call it. */
static inline uint64_t hash_of(const struct walk *w, struct walk_regs regs)
{
	uint64_t hash = (regs.pc ^ regs.sp << 7) * 0x9e3779b97f4a7c15ull;

	if (regs.sp < w->stack_low)
		return hash;
	for (unsigned i = 1; i < WALK_END_PCS; i++) {
		const struct walk_cached_rule *c = &w->rules[walk_rule_slot(regs.pc)];
		enum unwind_kind kind = rule_kind(c->rule);
		uint64_t cfa = kind == RULE_SP ? regs.sp : regs.fp, saved = rule_saved(c->rule);

		cfa += (uint64_t)rule_offset(c->rule);
		if (c->key != regs.pc || (kind != RULE_SP && kind != RULE_FP) || cfa & 7 ||
		    cfa <= regs.sp || cfa > w->stack_high || cfa - saved < w->stack_low)
			break;
		if (saved)
			regs.fp = *(const uint64_t *)(cfa - saved);
		regs.pc = *(const uint64_t *)(cfa - 8);
		regs.sp = cfa;
		hash = (hash ^ hash >> 32 ^ regs.pc) * 0x9e3779b97f4a7c15ull;
	}
	return hash;
}

static inline uint32_t *set_of(const struct walk *w, uint64_t hash)
{
	return &w->end_sets[((uint32_t)(hash >> 40) & w->end_mask) * WALK_END_WAYS];
}

static inline uint64_t differs(uint64_t sp, uint64_t check)
{
	return ((const uint64_t *)sp)[check >> 48] ^ (check & WALK_END_VALUE);
}

static inline bool holds(const struct walk_end_seen *e)
{
	uint64_t difference = 0;

	for (uint32_t i = e->count; i-- > 0;)
		difference |= differs(e->sp, e->checks[i]);
	return !difference;
}

static inline bool is_met(const struct walk *w, const struct walk_end_seen *e,
			  struct walk_regs regs)
{
	if (e->pc != regs.pc || e->sp != regs.sp || e->flags_and_epoch >> 1 != w->epoch ||
	    (e->fp != regs.fp && e->flags_and_epoch & FRAME_NEEDS_FP) || !holds(e))
		return false;
	return !e->depth ||
	       (w->frames + e->depth <= w->top + 1 && w->places[e->depth - 1] == e->place &&
		walk_checks_hold(w->checks, w->frames[e->depth - 1].checks));
}

/* An end was met, after the last one: that one keeps what mostly comes after it, and what did
 * otherwise.  The other takes its place when it was right twice. */
static inline void learn_order(struct walk *w, uint32_t index)
{
	struct walk_end_seen *last = &w->ends[w->last_end];

	if (last->next == index) {
		if (!last->trusted)
			last->trusted = true;
	} else if (last->next == w->last_end) {
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
	w->last_end = index;
}

/* Programs repeat themselves: the end that came after this one is asked for now, and is in the
 * cache when the next event comes. */
static inline void ask_for_next(const struct walk *w, uint32_t index)
{
	const char *next = (const char *)&w->ends[w->ends[index].next];

	__builtin_prefetch(next);
	__builtin_prefetch(next + 64);
}

static inline uint32_t met(struct walk *w, uint32_t index)
{
	learn_order(w, index);
	ask_for_next(w, index);
	return w->ends[index].node;
}

/* The checks from `first` on but the innermost, which is the pc, as an end has them.  False if one
 * cannot be written like that. */
static bool pack_checks(const struct walk *w, uint32_t first, uint64_t sp, struct walk_end_seen *e)
{
	uint32_t n = w->check_count - 1 - first;

	for (uint32_t i = 0; i < n; i++) {
		const struct walk_check *c = &w->checks[first + i];
		uint64_t distance = ((uint64_t)c->at - sp) / 8;

		if (unlikely(distance >> 16 || c->value > WALK_END_VALUE))
			return false;
		e->checks[i] = distance << 48 | c->value;
	}
	e->count = (uint8_t)n;
	return true;
}

void walk_remember(struct walk *w, struct walk_regs regs, uint32_t node)
{
	uint64_t hash;
	uint32_t index, first;
	struct walk_end_seen *e;
	/* From one frame outside the one that was met: where the frame register of a frame was
	 * saved depends on the next frame inwards, so that one has to be part of the end. */
	struct walk_frame *on = w->met >= w->frames ? w->met - 1 : w->met;

	if (unlikely(w->forgetful)) {
		w->top = w->frames - 1;
		return;
	}
	/* As far out as there is room for: that frame is the likelier to be there the next time. */
	while (on >= w->frames &&
	       w->check_count - (on > w->frames ? on[-1].checks : 0) <= WALK_END_CHECKS + 1)
		on--;
	first = on >= w->frames ? on->checks : 0;
	if (w->careful || w->end == WALK_TRUNCATED || w->top < w->frames ||
	    w->check_count - first > WALK_END_CHECKS + 1 || w->check_count == first)
		return;
	hash = hash_of(w, regs);
	index = w->end_count % ((w->end_mask + 1) * WALK_END_WAYS);
	e = &w->ends[index];
	e->flags_and_epoch = 0;
	if (!pack_checks(w, first, regs.sp, e))
		return;
	set_of(w, hash)[w->end_count++ % WALK_END_WAYS] =
		((uint32_t)hash & ~WALK_END_NUMBER) | index;
	e->pc = regs.pc;
	e->sp = regs.sp;
	e->fp = regs.fp;
	e->node = node;
	e->depth = (uint16_t)(on + 1 - w->frames);
	e->place = w->places[on - w->frames];
	e->flags_and_epoch = (w->top->flags & FRAME_NEEDS_FP) | w->epoch << 1;
	e->next = e->other = (uint16_t)index;
	e->trusted = false;
	learn_order(w, index);
}

uint32_t walk_another(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct walk_regs regs = { pc, sp, fp };
	const struct walk_end_seen *last = &w->ends[w->last_end];
	const uint32_t *set;
	uint64_t hash;

	if (!w->careful) {
		if (is_met(w, &w->ends[last->next], regs))
			return met(w, last->next);
		if (is_met(w, &w->ends[last->other], regs))
			return met(w, last->other);
		hash = hash_of(w, regs);
		set = set_of(w, hash);
		for (unsigned way = 0; way < WALK_END_WAYS; way++)
			if ((set[way] ^ (uint32_t)hash) <= WALK_END_NUMBER &&
			    is_met(w, &w->ends[set[way] & WALK_END_NUMBER], regs))
				return met(w, set[way] & WALK_END_NUMBER);
	}
	walk_slowly(w, regs);
	return w->top->node;
}
