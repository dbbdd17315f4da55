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
#include "unwind/x86_64/registers.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define PAGE 4096ull
#define MAX_FRAME (1ull << 20)      /* a guessed frame is not larger */
#define MAX_EXTENSION (16ull << 20) /* a stack does not grow by more between two events */
#define CHECKS_PER_FRAME 3

static void *carve(uint8_t **p, size_t size)
{
	void *result = *p;

	*p += (size + 63) & ~(size_t)63;
	return result;
}

/* Bytes of all arrays for one frame, and room to align each of them. */
#define FRAME_BYTES                                                                                \
	(2 * sizeof(struct walk_frame) + sizeof(uint64_t) + sizeof(unwind_rule) +                  \
	 2 * sizeof(uint32_t) + sizeof(uint16_t) + 2 + CHECKS_PER_FRAME * 2 * sizeof(uint64_t))

size_t walk_size(uint32_t limit)
{
	return sizeof(struct walk) + (limit + 1) * FRAME_BYTES + 12 * 64;
}

struct walk *walk_init(void *memory, uint32_t limit, bool (*probe)(const void *p))
{
	struct walk *w = memory;
	uint8_t *p = memory;
	size_t n = limit + 1;

	carve(&p, sizeof(*w));
	w->frames = carve(&p, n * sizeof(*w->frames));
	w->hashes = carve(&p, n * sizeof(*w->hashes));
	w->nodes = carve(&p, n * sizeof(*w->nodes));
	w->flags = carve(&p, n);
	w->modules = carve(&p, n * sizeof(*w->modules));
	w->check_start = carve(&p, n * sizeof(*w->check_start));
	w->check_at = carve(&p, n * CHECKS_PER_FRAME * sizeof(*w->check_at));
	w->check_value = carve(&p, n * CHECKS_PER_FRAME * sizeof(*w->check_value));
	w->fresh = carve(&p, n * sizeof(*w->fresh));
	w->fresh_rules = carve(&p, n * sizeof(*w->fresh_rules));
	w->fresh_flags = carve(&p, n);
	w->limit = limit;
	w->probe = probe;
	return w;
}

void walk_set_stack(struct walk *w, uint64_t high)
{
	w->stack_high = high;
	w->stack_low = high;
	w->gap = 0;
}

void walk_forget(struct walk *w)
{
	w->count = 0;
	memset(w->rules, 0, sizeof(w->rules));
}

/* Is sp on the thread's own stack?  Learns how far down that reaches; only pages above sp are
 * touched, which are in use. */
static bool on_own_stack(struct walk *w, uint64_t sp)
{
	uint64_t low = w->stack_low, page = sp & ~(PAGE - 1);

	if (sp >= w->stack_high || sp < w->gap || low - sp > MAX_EXTENSION)
		return false;
	while (low > page) {
		uint64_t next = (low - 1) & ~(PAGE - 1);

		if (!w->probe((const void *)next)) {
			w->gap = next;
			return false;
		}
		low = next;
		w->stack_low = low;
	}
	return true;
}

static bool readable_elsewhere(struct walk *w, uint64_t at)
{
	if (at & 7)
		return false;
	if (at / PAGE == w->ok_page)
		return true;
	if (!w->probe((const void *)at))
		return false;
	w->ok_page = at / PAGE;
	return true;
}

static inline bool readable(struct walk *w, uint64_t at)
{
	if (likely(at - w->stack_low < w->stack_high - w->stack_low && !(at & 7)))
		return true;
	return readable_elsewhere(w, at);
}

static inline uint64_t word_at(uint64_t at)
{
	return *(const uint64_t *)at;
}

/* Do the first n checks hold?  Returns n if so, else the index of the innermost that does not. */
static uint32_t first_difference(struct walk *w, uint32_t n)
{
	const uint64_t *const *at = w->check_at;
	const uint64_t *value = w->check_value;
	uint32_t i = n;

	if (unlikely(w->careful)) {
		while (i-- > 0)
			if (!readable(w, (uint64_t)at[i]) || *at[i] != value[i])
				return i;
		return n;
	}
	while (i >= 8) {
		uint64_t a, b;

		i -= 8;
		a = (*at[i] ^ value[i]) | (*at[i + 1] ^ value[i + 1]) | (*at[i + 2] ^ value[i + 2]) |
		    (*at[i + 3] ^ value[i + 3]);
		b = (*at[i + 4] ^ value[i + 4]) | (*at[i + 5] ^ value[i + 5]) |
		    (*at[i + 6] ^ value[i + 6]) | (*at[i + 7] ^ value[i + 7]);
		if (unlikely(a | b)) {
			for (uint32_t k = i + 8; k-- > i;)
				if (*at[k] != value[k])
					return k;
		}
	}
	while (i-- > 0)
		if (*at[i] != value[i])
			return i;
	return n;
}

static inline unwind_rule find_rule(struct walk *w, uint64_t key)
{
	struct walk_cached_rule *c = &w->rules[(key ^ key >> 10) % WALK_RULES];

	if (unlikely(c->key != key)) {
		/* A handler that interrupts between the two stores has a walk of its own. */
		c->rule = rules_find(key);
		c->key = key;
	}
	return c->rule;
}

/* From frame f (with regs) to the one outside it.  False at the end or if it cannot be. */
static inline bool step(struct walk *w, unwind_rule rule, struct walk_frame *f, uint64_t *sp,
			uint8_t *ret_flags)
{
	uint64_t cfa, fp = f->fp, at;

	*ret_flags = 0;
	switch (rule_kind(rule)) {
	case RULE_SP:
		cfa = *sp + (uint64_t)rule_offset(rule);
		break;
	case RULE_FP:
		cfa = fp + (uint64_t)rule_offset(rule);
		break;
	case RULE_FP_DEREF:
		at = fp + (uint64_t)rule_offset(rule);
		if (at < *sp || !readable(w, at))
			return false;
		cfa = word_at(at);
		break;
	case RULE_GUESS:
		if (fp < *sp || fp - *sp > MAX_FRAME)
			return false;
		cfa = fp + 16;
		break;
	case RULE_SIGNAL:
		at = *sp;
		if (!readable(w, at + SIGNAL_FRAME_FP) || !readable(w, at + SIGNAL_FRAME_PC) ||
		    !readable(w, at + SIGNAL_FRAME_SP))
			return false;
		f->pc = word_at(at + SIGNAL_FRAME_PC);
		f->slot = at + SIGNAL_FRAME_PC;
		f->fp = word_at(at + SIGNAL_FRAME_FP);
		f->fp_at = at + SIGNAL_FRAME_FP;
		*sp = word_at(at + SIGNAL_FRAME_SP);
		*ret_flags = FRAME_EXACT;
		return f->pc != 0;
	default:
		return false;
	}
	if (unlikely(cfa <= *sp || !readable(w, cfa - 8)))
		return false;
	if (rule_saved(rule)) {
		at = rule_kind(rule) == RULE_FP_DEREF ? fp : cfa - rule_saved(rule);
		if (unlikely(!readable(w, at)))
			return false;
		f->fp = word_at(at);
		f->fp_at = at;
	} else {
		f->fp_at = 0;
	}
	f->slot = cfa - 8;
	f->pc = word_at(f->slot);
	*sp = cfa;
	return f->pc != 0;
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash << 5 ^ hash >> 59 ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Adds a frame's checks at the end of the list; frame k is then the innermost. */
static inline uint32_t add_checks(struct walk *w, uint32_t c, uint32_t k)
{
	const struct walk_frame *f = &w->frames[k];

	w->check_start[k] = c;
	w->check_at[c] = (const uint64_t *)f->slot;
	w->check_value[c++] = f->pc;
	if (w->flags[k] & FRAME_NEEDS_FP && f->fp_at) {
		w->check_at[c] = (const uint64_t *)f->fp_at;
		w->check_value[c++] = f->fp;
	}
	if (unlikely(w->flags[k] & FRAME_EXACT)) {
		w->check_at[c] = (const uint64_t *)(f->slot - SIGNAL_FRAME_PC + SIGNAL_FRAME_SP);
		w->check_value[c] = *w->check_at[c];
		c++;
	}
	return c;
}

/* Puts the fresh frames on top of the `met` outermost ones of the last stack. */
static inline void keep_fresh(struct walk *w, uint32_t met, uint32_t fresh, uint64_t met_fp_at)
{
	uint32_t k = met, c = 0;
	bool needs_fp = false;

	if (met) {
		/* The frame that was met may now be reached through other inner frames, so its
		 * frame register may have been read from elsewhere. */
		w->frames[met - 1].fp_at = met_fp_at;
		c = add_checks(w, w->check_start[met - 1], met - 1);
		needs_fp = w->flags[met - 1] & FRAME_NEEDS_FP;
	}
	w->known = met;
	for (uint32_t i = fresh; i-- > 0; k++) {
		unwind_rule rule = w->fresh_rules[i];
		uint64_t pc = w->fresh[i].pc;

		needs_fp = rule_uses_fp(rule) || (needs_fp && !rule_saved(rule));
		w->frames[k] = w->fresh[i];
		w->flags[k] = (uint8_t)(w->fresh_flags[i] | (needs_fp ? FRAME_NEEDS_FP : 0));
		w->modules[k] = (uint16_t)rule_module(rule);
		w->hashes[k] = mix(k ? w->hashes[k - 1] : w->end, pc ^ (rule >> 48 << 48));
		w->nodes[k] = 0;
		c = add_checks(w, c, k);
	}
	w->count = k;
}

/* One walk; with `reuse` the last stack may be met.  Returns false if the result would have to be
 * cut or extended at its outer end, which only a walk without reuse can do. */
static inline bool take(struct walk *w, struct walk_regs regs, bool reuse)
{
	struct walk_frame f = { regs.pc, regs.sp - 8, regs.fp, 0 };
	uint64_t sp = regs.sp;
	uint32_t top = reuse ? w->count : 0, fresh = 0, met = 0;
	uint8_t flags = 0, end = WALK_TRUNCATED;
	bool careful = false;

	if (unlikely(sp - w->stack_low >= w->stack_high - w->stack_low) && !on_own_stack(w, sp)) {
		careful = true;
		w->ok_page = (sp - 8) / PAGE;
	}
	while (fresh < w->limit) {
		unwind_rule rule;

		while (top && w->frames[top - 1].slot < f.slot)
			top--;
		if (top && w->frames[top - 1].slot == f.slot && w->frames[top - 1].pc == f.pc &&
		    !(w->flags[top - 1] & FRAME_EXACT) &&
		    (w->frames[top - 1].fp == f.fp || !(w->flags[top - 1] & FRAME_NEEDS_FP))) {
			uint32_t n = w->check_start[top - 1], bad = first_difference(w, n);

			if (likely(bad == n)) {
				met = top;
				end = w->end;
				careful |= w->careful;
				break;
			}
			/* The frame that the failed check belongs to is not to be met again. */
			while (w->check_start[top - 1] > bad)
				top--;
			top--;
		}
		rule = find_rule(w, f.pc + (flags & FRAME_EXACT ? 1 : 0));
		w->fresh[fresh] = f;
		w->fresh_rules[fresh] = rule;
		w->fresh_flags[fresh++] = flags;
		if (!step(w, rule, &f, &sp, &flags)) {
			end = rule_kind(rule) == RULE_END || !f.pc ? WALK_COMPLETE : WALK_BROKEN;
			break;
		}
		careful |= flags & FRAME_EXACT;
	}
	w->walked += fresh;
	if (met && unlikely(met + fresh > w->limit ||
			    (end == WALK_TRUNCATED && met + fresh != w->limit)))
		return false;
	w->end = end;
	w->careful = careful;
	keep_fresh(w, met, fresh, f.fp_at);
	return true;
}

void walk_stack(struct walk *w, struct walk_regs regs)
{
	if (unlikely(!take(w, regs, true)))
		take(w, regs, false);
}
