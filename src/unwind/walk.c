/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stack walking with verified reuse.
 *
 * Runs inside the target, on its stack, on any thread and in signal handlers; calls nothing but
 * the rule table and the probe.
 *
 * A walk goes outwards frame by frame until it meets a frame of the last stack: same place, same
 * return address and, where outer frames are computed from it, same frame register.  Everything
 * further out is a function of that state and of a known set of words in memory (return addresses
 * and saved frame registers): the checks.  If they all still hold what they held, the outer frames
 * are the same, and they are not walked.  If not, the walk goes on from the innermost one that
 * differs.  Nothing is patched and nothing is assumed, so longjmp, exceptions and switched stacks
 * need no special case.
 *
 * Reading memory: between the stack register and the end of the thread's own stack everything is
 * readable once it was.  Elsewhere (fibers, signal stacks) a page is probed before it is read, in
 * every walk again, since the program may have unmapped it. */
#include "unwind/walk.h"

#include <stddef.h>
#include <string.h>

#include "unwind/rules.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define MAX_FRAME (1ull << 20)	    /* a guessed frame is not larger */
#define MAX_EXTENSION (16ull << 20) /* a stack does not grow by more between two events */
#ifdef ARCH_TWO_FRAME_REGISTERS
#define CHECKS_PER_FRAME 4
#else
#define CHECKS_PER_FRAME 3
#endif

static void *carve(uint8_t **p, size_t size)
{
	void *result = *p;

	*p += (size + 63) & ~(size_t)63;
	return result;
}

size_t walk_size(uint32_t limit, uint32_t sets)
{
	size_t n = limit + 2;

	return sizeof(struct walk) + n * sizeof(struct walk_frame) +
	       n * CHECKS_PER_FRAME * sizeof(struct walk_check) + n * sizeof(struct walk_fresh) +
	       n * sizeof(uint64_t) +
	       sets * WALK_SUFFIX_WAYS * (sizeof(struct walk_suffix) + sizeof(uint32_t)) + 9 * 64;
}

struct walk *walk_init(void *memory, uint32_t limit, uint32_t sets, bool (*probe)(const void *p))
{
	struct walk *w = memory;
	uint8_t *p = memory;
	size_t n = limit + 2;

	carve(&p, sizeof(*w));
	w->frames = (struct walk_frame *)carve(&p, n * sizeof(*w->frames)) + 1;
	w->checks = carve(&p, n * CHECKS_PER_FRAME * sizeof(*w->checks));
	w->fresh = carve(&p, n * sizeof(*w->fresh));
	w->identities = (uint64_t *)carve(&p, n * sizeof(*w->identities)) + 1;
	w->suffixes = carve(&p, sets * WALK_SUFFIX_WAYS * sizeof(*w->suffixes));
	w->suffix_sets = carve(&p, sets * WALK_SUFFIX_WAYS * sizeof(*w->suffix_sets));
	w->suffix_mask = sets - 1;
	w->epoch = 1;
	w->frames[-1].slot = UINT64_MAX;
	w->identities[-1] = 1;
	w->top = w->frames - 1;
	w->limit = limit;
	w->probe = probe;
	return w;
}

/* Makes all suffixes invalid.  The next are put where the first were, not onto untouched pages. */
static void forget_stacks(struct walk *w)
{
	w->top = w->frames - 1;
	w->stale = false;
	w->epoch++;
	w->suffix_count = 0;
}

void walk_set_stack(struct walk *w, uint64_t high)
{
	forget_stacks(w);
	w->stack_high = high;
	w->stack_low = high;
	w->gap = 0;
}

void walk_forget(struct walk *w)
{
	forget_stacks(w);
	memset(w->rules, 0, sizeof(w->rules));
}

/* Is sp on the thread's own stack?  Learns how far down that reaches; only pages above sp are
 * touched, which are in use. */
static bool on_own_stack(struct walk *w, uint64_t sp)
{
	uint64_t low = w->stack_low, page = sp & ~(ARCH_PAGE - 1);

	if (sp >= w->stack_high || sp < w->gap || low - sp > MAX_EXTENSION)
		return false;
	while (low > page) {
		uint64_t next = (low - 1) & ~(ARCH_PAGE - 1);

		if (!w->probe((const void *)(uintptr_t)next)) {
			w->gap = next;
			return false;
		}
		low = next;
		w->stack_low = low;
	}
	return true;
}

static __attribute__((noinline)) bool readable_elsewhere(struct walk *w, uint64_t at)
{
	if (at & (ARCH_WORD - 1))
		return false;
	w->elsewhere = true;
	if (at / ARCH_PAGE == w->ok_page)
		return true;
	if (!w->probe((const void *)(uintptr_t)at))
		return false;
	w->ok_page = at / ARCH_PAGE;
	return true;
}

static inline bool readable(struct walk *w, uint64_t at)
{
	if (likely(at - w->stack_low < w->stack_high - w->stack_low && !(at & (ARCH_WORD - 1))))
		return true;
	return readable_elsewhere(w, at);
}

static inline uint64_t word_at(uint64_t at)
{
	return rule_word(at);
}

/* The innermost of the n outermost checks that does not hold; n if all do.  Checks are read inwards
 * to outwards and no further than the first difference: what lies behind it may be gone. */
static __attribute__((noinline)) uint32_t first_difference(struct walk *w, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		const struct walk_check *c = &w->checks[i];

		if (!readable(w, (uintptr_t)c->at) || *c->at != c->value)
			return i;
	}
	return n;
}

static inline bool frame_is(const struct walk_frame *f, uint64_t slot, uint64_t pc, uint64_t fp)
{
	return f->slot == slot && f->pc == pc && !(f->flags & FRAME_EXACT) &&
	       (f->fp == fp || !(f->flags & FRAME_NEEDS_FP));
}

static inline unwind_rule find_rule(struct walk *w, uint64_t key)
{
	struct walk_cached_rule *c = &w->rules[walk_rule_slot(key)];

	if (unlikely(c->key != key)) {
		/* A handler that interrupts between the two stores has a walk of its own. */
		c->rule = rules_find(key);
		c->key = key;
	}
	return c->rule;
}

#ifndef ARCH_TWO_FRAME_REGISTERS
/* Go moves goroutines' stacks, and does not change what C has saved of the frame register: it is
 * believed if it is where the stack is now. */
static bool may_switch(struct walk *w, const struct walk_fresh *f, uint64_t sp)
{
	uint64_t goroutine, top;

	if (rule_offset(f->rule) / 8 != SWITCH_TO_C)
		return true;
	if (!readable(w, sp + SWITCH_GOROUTINE) || !readable(w, sp + SWITCH_DEPTH))
		return false;
	goroutine = word_at(sp + SWITCH_GOROUTINE);
	if (!readable(w, goroutine + SWITCH_STACK_END))
		return false;
	top = word_at(goroutine + SWITCH_STACK_END) - word_at(sp + SWITCH_DEPTH);
	return f->fp >= top && f->fp - top < ARCH_PAGE;
}
#endif

#ifdef ARCH_TWO_FRAME_REGISTERS
/* The caller's frame registers, where the function has saved them. */
static bool restore_both(struct walk *w, struct walk_fresh *f, uint64_t cfa)
{
	uint64_t low = arch_saved_low(f->rule), high = arch_saved_high(f->rule);

	if ((low && !readable(w, cfa - low)) || (high && !readable(w, cfa - high)))
		return false;
	f->fp_at = low ? cfa - low : 0;
	f->origin.high_at = high ? cfa - high : 0;
	f->fp = rule_read_fp(f->fp, cfa, f->rule);
	return true;
}
#endif

/* The frame outside f has this stack register; where the return to it is. */
static inline bool put_return(struct walk_fresh *f, uint64_t sp, uint64_t at)
{
	f->slot = arch_entry_slot(sp);
	arch_origin_set(&f->origin, at);
	f->pc = arch_address(word_at(at));
	f->flags = 0;
	return f->pc != 0;
}

/* The rules that only processors with a link register have. */
static bool step_from_register(struct walk *w, struct walk_fresh *f, uint64_t *sp)
{
	uint64_t at = f->slot - SIGNAL_FRAME_PC + SIGNAL_FRAME_LINK, cfa;

	if (rule_kind(f->rule) == RULE_RECORD) {
		cfa = f->fp + (uint64_t)rule_offset(f->rule);
		if (cfa <= *sp || !readable(w, f->fp) || !readable(w, f->fp + 8))
			return false;
		at = f->fp + 8;
		f->fp_at = f->fp;
		f->fp = word_at(f->fp);
	} else {
		uint64_t saved = rule_saved(f->rule);

		cfa = (rule_kind(f->rule) == RULE_LINK_FP ? f->fp : *sp) +
		      (uint64_t)rule_offset(f->rule);
		if (!(f->flags & FRAME_EXACT) || cfa < *sp || !readable(w, at) ||
		    (saved && !readable(w, cfa - saved)))
			return false;
#ifdef ARCH_TWO_FRAME_REGISTERS
		if (!restore_both(w, f, cfa))
			return false;
#else
		f->fp_at = saved ? cfa - saved : 0;
		if (saved)
			f->fp = word_at(f->fp_at);
#endif
	}
	f->sp_at = 0;
	*sp = cfa;
	return put_return(f, cfa, at);
}

/* The rarer rules. */
static __attribute__((noinline)) bool step_rarely(struct walk *w, struct walk_fresh *f,
						  uint64_t *sp)
{
	uint64_t at;

	switch (rule_kind(f->rule)) {
	case RULE_LINK:
	case RULE_LINK_FP:
	case RULE_RECORD:
		return ARCH_LINK_REGISTER && step_from_register(w, f, sp);
#ifdef ARCH_TWO_FRAME_REGISTERS
	case RULE_FP_HIGH:
		at = (f->fp >> 32) + (uint64_t)rule_offset(f->rule);
		if (at <= *sp || !readable(w, arch_return_slot(at, f->rule)) ||
		    !restore_both(w, f, at))
			return false;
		f->sp_at = 0;
		*sp = at;
		break;
#else
	case RULE_FP_DEREF:
		at = f->fp + (uint64_t)rule_offset(f->rule);
		if (at < *sp || !readable(w, at) || !readable(w, f->fp))
			return false;
		f->sp_at = at;
		at = word_at(at); /* the CFA */
		if (at <= *sp || !readable(w, arch_return_slot(at, f->rule)))
			return false;
		f->fp_at = rule_saved(f->rule) ? f->fp : 0;
		f->fp = rule_saved(f->rule) ? word_at(f->fp) : f->fp;
		*sp = at;
		break;
	case RULE_GUESS:
		if (f->fp < *sp || f->fp - *sp > MAX_FRAME)
			return false;
		__attribute__((fallthrough));
	case RULE_SWITCH:
		if (rule_kind(f->rule) == RULE_SWITCH && !may_switch(w, f, *sp))
			return false;
		if (!readable(w, f->fp) || !readable(w, f->fp + 8))
			return false;
		at = f->fp;
		*sp = at + 16;
		f->sp_at = 0;
		f->fp_at = at;
		f->fp = word_at(at);
		if (ARCH_LINK_REGISTER) {
			put_return(f, *sp, at + 8);
			f->slot++; /* no other frame has that */
			f->flags = FRAME_ADRIFT;
			return f->pc != 0;
		}
		break;
#endif
	case RULE_SIGNAL:
		at = *sp + (ARCH_WORD < 8 ? (uint64_t)rule_offset(f->rule) : 0);
		if (!readable(w, at + SIGNAL_FRAME_FP) || !readable(w, at + SIGNAL_FRAME_PC) ||
		    !readable(w, at + SIGNAL_FRAME_SP))
			return false;
		f->pc = word_at(at + SIGNAL_FRAME_PC);
		f->slot = at + SIGNAL_FRAME_PC;
		arch_origin_set(&f->origin, f->slot);
		f->fp = word_at(at + SIGNAL_FRAME_FP);
		f->fp_at = at + SIGNAL_FRAME_FP;
#ifdef ARCH_TWO_FRAME_REGISTERS
		f->origin.high_at = at + SIGNAL_FRAME_FP_HIGH;
		f->fp |= word_at(f->origin.high_at) << 32;
#endif
		f->sp_at = at + SIGNAL_FRAME_SP;
		*sp = word_at(f->sp_at);
		f->flags = FRAME_EXACT;
		return f->pc != 0;
	default:
		return false;
	}
	return put_return(f, *sp, arch_return_slot(*sp, f->rule));
}

/* From frame f, whose rule is known, to the one outside it.  False at the end or if it cannot be;
 * a pc of 0 is an end. */
static inline bool walk_step(struct walk *w, struct walk_fresh *f, uint64_t *sp)
{
	unwind_rule rule = f->rule;
	uint64_t cfa, saved = rule_saved(rule);

	if (likely(rule_kind(rule) == RULE_SP))
		cfa = *sp + (uint64_t)rule_offset(rule);
	else if (rule_kind(rule) == RULE_FP)
		cfa = rule_fp_base(f->fp) + (uint64_t)rule_offset(rule);
	else
		return step_rarely(w, f, sp);
	if (ARCH_LINK_REGISTER && unlikely(f->flags & FRAME_ADRIFT)) {
		/* It points at where the caller's was saved, as that of a guess does. */
		if (!saved)
			return false;
		cfa = f->fp + saved;
	}
	if (unlikely(cfa <= *sp || !readable(w, arch_return_slot(cfa, rule))))
		return false;
#ifdef ARCH_TWO_FRAME_REGISTERS
	if (!restore_both(w, f, cfa))
		return false;
#else
	if (saved) {
		if (unlikely(!readable(w, cfa - saved)))
			return false;
		f->fp_at = cfa - saved;
		f->fp = word_at(cfa - saved);
	} else {
		f->fp_at = 0;
	}
#endif
	f->sp_at = 0;
	*sp = cfa;
	return put_return(f, cfa, arch_return_slot(cfa, rule));
}

/* Writes the checks of frame f, from its place in the list on; returns where the next go. */
static inline uint32_t put_checks(struct walk *w, const struct walk_frame *f,
				  const struct walk_fresh *as)
{
	struct walk_check *c = &w->checks[f->checks];
	uint64_t at = arch_origin_at(&as->origin, f->slot);

	*c++ = (struct walk_check){ (const arch_word *)(uintptr_t)at, arch_origin_word(at, f->pc) };
	if (f->flags & FRAME_NEEDS_FP && as->fp_at)
		*c++ = (struct walk_check){ (const arch_word *)(uintptr_t)as->fp_at,
					    (arch_word)f->fp };
#ifdef ARCH_TWO_FRAME_REGISTERS
	if (f->flags & FRAME_NEEDS_FP && as->origin.high_at)
		*c++ = (struct walk_check){ (const arch_word *)(uintptr_t)as->origin.high_at,
					    (arch_word)(f->fp >> 32) };
#endif
	if (unlikely(as->sp_at))
		*c++ = (struct walk_check){ (const arch_word *)(uintptr_t)as->sp_at,
					    (arch_word)word_at(as->sp_at) };
	return (uint32_t)(c - w->checks);
}

static inline uint64_t mix(uint64_t hash, uint64_t pc, unwind_rule rule)
{
	hash = (hash << 5 ^ hash >> 59 ^ pc ^ rule >> 48 << 48) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Two frames with the same identity are the same frame on the same outer frames. */
static inline uint64_t identity_of(uint64_t outer, const struct walk_frame *f)
{
	uint64_t fp = f->flags & FRAME_NEEDS_FP ? f->fp << 16 | f->fp >> 48 : 0;
	uint64_t h = (outer ^ f->slot << 13 ^ f->pc ^ fp) * 0xd6e8feb86659fd93ull;

	return h ^ h >> 32;
}

/* The outermost frame is where it is because of what was read behind it, if that was a zero. */
static inline uint32_t put_outermost(struct walk *w, const struct walk_fresh *beyond)
{
	w->frames[-1].hash = w->outcome;
	if (beyond->pc)
		return 0;
	w->checks[0] = (struct walk_check){
		(const arch_word *)(uintptr_t)arch_origin_at(&beyond->origin, beyond->slot), 0
	};
	return 1;
}

/* Puts the fresh frames on top of `met`, the innermost one that stays. */
static inline void walk_keep(struct walk *w, struct walk_frame *met, const struct walk_fresh *as,
			     uint32_t fresh)
{
	struct walk_frame *f = met;
	uint64_t hash;
	uint32_t checks = 0;

	if (met >= w->frames)
		/* It may now be reached through other inner frames, so its registers may have been
		 * read from elsewhere. */
		checks = put_checks(w, met, as);
	else
		checks = put_outermost(w, as);
	/* The hash first: what it will be looked up in is probably not in the cache. */
	hash = met->hash;
	for (uint32_t i = fresh; i-- > 0;)
		w->fresh[i].hash = hash = mix(hash, w->fresh[i].pc, w->fresh[i].rule);
	__builtin_prefetch((const char *)w->table + (hash & w->table_mask) * w->table_step);
	while (fresh-- > 0) {
		const struct walk_fresh *n = &w->fresh[fresh];
		bool needs_fp = rule_uses_fp(n->rule) ||
				(ARCH_LINK_REGISTER && n->flags & FRAME_ADRIFT) ||
				(f->flags & FRAME_NEEDS_FP && !rule_saves_fp(n->rule));

		f++;
		if (f <= w->top && f->slot == n->slot && f->rule == n->rule && f == met + 1 &&
		    f->pc != n->pc && f->node) {
			f->other_pc = f->pc;
			f->other_node = f->node;
		} else {
			f->other_pc = 0;
		}
		f->slot = n->slot;
		f->pc = n->pc;
		f->fp = n->fp;
		f->rule = n->rule;
		f->hash = n->hash;
		f->node = 0;
		f->flags = n->flags | (needs_fp ? FRAME_NEEDS_FP : 0);
		f->checks = checks;
		w->identities[f - w->frames] = identity_of(w->identities[f - 1 - w->frames], f);
		checks = put_checks(w, f, n);
	}
	w->top = f;
	w->met = met;
	w->check_count = checks;
}

/* Did the walk stop where the stack does?  A frame register of 0 marks the outermost frame in code
 * without unwind information: the loader's entry. */
static bool is_end(const struct walk_fresh *f)
{
	enum unwind_kind kind = rule_kind(f->rule);

	return kind == RULE_END || !f->pc || (kind == RULE_GUESS && !RULE_OUTERMOST(f->fp));
}

/* One walk; with `reuse` the last stack may be met.  Returns false if the result would have to be
 * cut or extended at its outer end, which only a walk without reuse can do. */
static inline bool walk_take(struct walk *w, struct walk_regs regs, bool reuse)
{
	struct walk_fresh f = { .slot = arch_entry_slot(regs.sp), .pc = regs.pc, .fp = regs.fp };
	struct walk_frame *m = reuse ? w->top : w->frames - 1;
	uint64_t sp = regs.sp;
	uint32_t fresh = 0, depth;
	uint8_t outcome = WALK_TRUNCATED;
	bool met = false;

	w->elsewhere = false;
	if (unlikely(sp - w->stack_low >= w->stack_high - w->stack_low)) {
		w->elsewhere = !on_own_stack(w, sp);
		w->ok_page = arch_entry_slot(sp) / ARCH_PAGE; /* in use */
	}
	while (fresh < w->limit) {
		while (m->slot < f.slot)
			m--;
		if (frame_is(m, f.slot, f.pc, f.fp)) {
			uint32_t bad;

			if (likely(!w->careful && walk_checks_hold(w->checks, m->checks))) {
				met = true;
				break;
			}
			bad = first_difference(w, m->checks);
			if (bad == m->checks) {
				met = true;
				break;
			}
			/* The frame that the failed check belongs to is not to be met again. */
			while (m->checks > bad)
				m--;
			m--;
		}
		f.rule = find_rule(w, f.pc + (f.flags & FRAME_EXACT ? 1 : 0));
		w->fresh[fresh++] = f;
		if (!walk_step(w, &f, &sp)) {
			outcome = is_end(&f) ? WALK_COMPLETE : WALK_BROKEN;
			break;
		}
	}
	if (met) {
		depth = (uint32_t)(m + 1 - w->frames) + fresh;
		if (unlikely(depth > w->limit ||
			     (w->outcome == WALK_TRUNCATED && depth != w->limit)))
			return false;
		w->careful |= w->elsewhere;
	} else {
		m = w->frames - 1;
		w->outcome = outcome;
		w->careful = w->elsewhere;
	}
	walk_keep(w, m, &f, fresh);
	return true;
}

__attribute__((noinline)) void walk_slowly(struct walk *w, struct walk_regs regs)
{
	if (w->stale) {
		w->top->hash = mix(w->top[-1].hash, w->top->pc, w->top->rule);
		w->identities[w->top - w->frames] =
			identity_of(w->identities[w->top - 1 - w->frames], w->top);
		w->stale = false;
	}
	if (unlikely(!walk_take(w, regs, true)))
		walk_take(w, regs, false);
}

bool walk_leads_to(struct walk *w, struct walk_regs regs, uint64_t through, uint64_t slot)
{
	struct walk_fresh f = { .slot = arch_entry_slot(regs.sp), .pc = regs.pc, .fp = regs.fp };
	uint64_t sp = regs.sp, inner = 0;

	if (sp - w->stack_low >= w->stack_high - w->stack_low) {
		on_own_stack(w, sp);
		w->ok_page = arch_entry_slot(sp) / ARCH_PAGE;
	}
	for (uint32_t i = 0; i < w->limit && f.slot < slot; i++) {
		inner = f.pc;
		f.rule = find_rule(w, f.pc + (f.flags & FRAME_EXACT ? 1 : 0));
		if (rule_kind(f.rule) == RULE_SIGNAL)
			return false;
		if (!walk_step(w, &f, &sp))
			return true;
	}
	return f.slot == slot && inner == through;
}
