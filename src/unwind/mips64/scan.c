/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind rules of code that no table describes, MIPS64: by reading the code.
 *
 * Whoever executes what follows an address comes to the end of its function, and has then put the
 * stack register, the frame register and the return address back: from where, is the rule.  So
 * instructions are followed from the address on, with what is known of the registers, branches both
 * ways, until a way ends in a return (or in a jump to another function in its place) with a return
 * address that is the caller's.  A way that runs out of the function, behind a call that never
 * returns, does not end like that: there the return address is one of our own calls', which nobody
 * jumps to.  If no way ends, because the function never returns, the start of the function is
 * looked for backwards: where the stack register is lowered and the return address saved.
 *
 * Runs inside the target under the recorder's lock, once for each address: any thread, any signal
 * handler.  A pure function of the bytes between `low` and `high`, which may be anything
 * (fuzz/fuzz_scan_mips64.c). */
#include "unwind/scan.h"

#include <string.h>

#define STEPS_MAX 8192u	 /* instructions that are followed for one rule */
#define BACK_MAX 32768u	 /* that are looked at for the start of a function */
#define PROLOGUE_MAX 64u /* that follow it up to the first jump */
#define ZERO 0u
#define NUMBER_OF_STUB 15u /* where stubs of calls keep the return address */
#define TARGET 25u	   /* what is called, or jumped to as the last thing that a function does */
#define LEAST_KEPT 16u	   /* registers that calls leave alone: from this, */
#define LAST_KEPT 23u	   /* to this, and some of the last */
#define NO_LINK 0x0000f825u /* move ra, zero: the outermost frame */
#define NO_LINK_TOO 0x0000f82du

enum flow { FLOW_NEXT, FLOW_BRANCH, FLOW_LIKELY, FLOW_ALWAYS, FLOW_CALL, FLOW_JUMP };

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static int64_t immediate(uint32_t w)
{
	return (int16_t)w;
}

static unsigned rs_of(uint32_t w)
{
	return w >> 21 & 31;
}

static unsigned rt_of(uint32_t w)
{
	return w >> 16 & 31;
}

static unsigned rd_of(uint32_t w)
{
	return w >> 11 & 31;
}

/* What an instruction does to the flow, and how far from it a branch leads.  Where a jump within
 * 256 MiB leads is not found out: compilers only call so. */
static enum flow flow_of(uint32_t w, int64_t *ret_distance)
{
	unsigned op = w >> 26, rt = rt_of(w);

	*ret_distance = immediate(w) * 4 + 4;
	switch (op) {
	case 0x00:
		if ((w & 0x3f) == 0x08) /* jr */
			return FLOW_JUMP;
		return (w & 0x3f) == 0x09 ? FLOW_CALL : FLOW_NEXT; /* jalr */
	case 0x01: /* bltz, bgez, both likely; the same that link */
		if ((rt & ~0x13u) != 0)
			return FLOW_NEXT;
		if (rt & 0x10)
			return FLOW_CALL;
		return rt & 2 ? FLOW_LIKELY : FLOW_BRANCH;
	case 0x02: /* j */
		*ret_distance = INT64_MAX;
		return FLOW_ALWAYS;
	case 0x03: /* jal */
		return FLOW_CALL;
	case 0x04: /* beq */
		return rs_of(w) == rt ? FLOW_ALWAYS : FLOW_BRANCH;
	case 0x05:
	case 0x06:
	case 0x07:
		return FLOW_BRANCH;
	case 0x14:
	case 0x15:
	case 0x16:
	case 0x17:
		return FLOW_LIKELY;
	case 0x11: /* of the floating point unit */
		if (rs_of(w) < 8 || rs_of(w) > 10)
			return FLOW_NEXT;
		return w & 1 << 17 ? FLOW_LIKELY : FLOW_BRANCH;
	default:
		return FLOW_NEXT;
	}
}

static bool is_address(const struct scan_value *v)
{
	return v->kind == SCAN_STACK || v->kind == SCAN_FRAME;
}

/* Is it the caller's return address? */
static bool is_return(const struct scan_value *v)
{
	return v->kind == SCAN_LINK || v->kind == SCAN_STACKED;
}

static bool same_place(const struct scan_value *a, const struct scan_value *b)
{
	return a->kind == b->kind && a->offset == b->offset;
}

static struct scan_value plus(struct scan_value v, uint64_t n)
{
	if (v.kind == SCAN_NUMBER || is_address(&v))
		v.offset = (int64_t)((uint64_t)v.offset + n);
	else
		v.kind = SCAN_UNKNOWN;
	return v;
}

static struct scan_value sum(const struct scan_value *a, const struct scan_value *b, bool less)
{
	if (b->kind == SCAN_NUMBER)
		return plus(*a, less ? 0 - (uint64_t)b->offset : (uint64_t)b->offset);
	if (a->kind == SCAN_NUMBER && !less)
		return plus(*b, (uint64_t)a->offset);
	return (struct scan_value){ .kind = SCAN_UNKNOWN };
}

/* Three registers. */
static struct scan_value computed(const struct scan_state *s, uint32_t w)
{
	const struct scan_value *a = &s->registers[rs_of(w)], *b = &s->registers[rt_of(w)];
	struct scan_value v = { .kind = SCAN_UNKNOWN };

	switch (w & 0x3f) {
	case 0x21: /* addu */
	case 0x25: /* or */
	case 0x2d: /* daddu */
		if (rt_of(w) == ZERO)
			return *a;
		if (rs_of(w) == ZERO)
			return *b;
		return (w & 0x3f) == 0x2d ? sum(a, b, false) : v;
	case 0x2f: /* dsubu */
		return sum(a, b, true);
	case 0x38: /* dsll */
		if (b->kind == SCAN_NUMBER) {
			v.kind = SCAN_NUMBER;
			v.offset = (int64_t)((uint64_t)b->offset << (w >> 6 & 31));
		}
		return v;
	default:
		return v;
	}
}

static struct scan_value loaded(const struct scan_state *s, uint32_t w)
{
	struct scan_value at = plus(s->registers[rs_of(w)], (uint64_t)immediate(w));

	if (!is_address(&at) || rt_of(w) < REGISTER_FP)
		return (struct scan_value){ .kind = SCAN_UNKNOWN };
	for (unsigned i = s->stores; i-- > 0;)
		if (same_place(&s->at[i], &at))
			return s->stored[i];
	return (struct scan_value){ .kind = SCAN_STACKED, .base = at.kind, .offset = at.offset };
}

/* False: a return address is saved that is not the caller's, so this is another function. */
static bool store(struct scan_state *s, uint32_t w)
{
	struct scan_value at = plus(s->registers[rs_of(w)], (uint64_t)immediate(w));
	const struct scan_value *v = &s->registers[rt_of(w)];

	if (!is_address(&at) || rt_of(w) < REGISTER_FP)
		return true;
	if (rt_of(w) == REGISTER_RETURN && !is_return(v))
		return false;
	if (s->stores < SCAN_STORES) {
		s->at[s->stores] = at;
		s->stored[s->stores++] = *v;
	}
	return true;
}

/* One instruction that is no jump.  False: the way is not to be followed. */
static bool execute(struct scan_state *s, uint32_t w)
{
	struct scan_value v = { .kind = SCAN_UNKNOWN };
	unsigned op = w >> 26, to = rt_of(w);

	switch (op) {
	case 0x00:
		v = computed(s, w);
		to = rd_of(w);
		break;
	case 0x09: /* addiu */
		v = plus(s->registers[rs_of(w)], (uint64_t)immediate(w));
		if (v.kind == SCAN_NUMBER)
			v.offset = (int32_t)v.offset;
		else
			v.kind = SCAN_UNKNOWN;
		break;
	case 0x19: /* daddiu */
		v = plus(s->registers[rs_of(w)], (uint64_t)immediate(w));
		break;
	case 0x0d: /* ori */
		v = s->registers[rs_of(w)];
		v.kind = v.kind == SCAN_NUMBER ? SCAN_NUMBER : SCAN_UNKNOWN;
		v.offset |= w & 0xffff;
		break;
	case 0x0f: /* lui */
		v = (struct scan_value){ .kind = SCAN_NUMBER, .offset = (int32_t)(w << 16) };
		break;
	case 0x37: /* ld */
		v = loaded(s, w);
		break;
	case 0x3f: /* sd */
		return store(s, w);
	case 0x01: /* traps */
	case 0x28: /* stores, and hints */
	case 0x29:
	case 0x2a:
	case 0x2b:
	case 0x2c:
	case 0x2d:
	case 0x2e:
	case 0x2f:
	case 0x31:
	case 0x33:
	case 0x35:
	case 0x39:
	case 0x3d:
		return true;
	case 0x11: /* of the floating point unit, or from it to a register */
		if (rs_of(w) > 2)
			return true;
		break;
	case 0x1c:
		to = rd_of(w);
		break;
	case 0x1f: /* moves of bits, and what the processor says of itself */
		if ((w & 0x3f) == 0x20 || (w & 0x3f) == 0x24)
			to = rd_of(w);
		break;
	}
	if (to != ZERO)
		s->registers[to] = v;
	return true;
}

static void forget_called(struct scan_state *s)
{
	for (unsigned i = 1; i < 32; i++)
		if ((i < LEAST_KEPT || i > LAST_KEPT) && i != REGISTER_SP && i != REGISTER_FP)
			s->registers[i].kind = SCAN_UNKNOWN;
}

static void begin(struct scan_state *s, bool exact)
{
	memset(s, 0, sizeof(*s));
	s->registers[ZERO].kind = SCAN_NUMBER;
	s->registers[REGISTER_SP].kind = SCAN_STACK;
	s->registers[REGISTER_FP].kind = SCAN_FRAME;
	if (exact)
		s->registers[REGISTER_RETURN].kind = SCAN_LINK;
}

/* How many words below the CFA; 0: it is not there. */
static uint64_t words_below(const struct scan_value *cfa, const struct scan_value *saved)
{
	uint64_t distance = (uint64_t)cfa->offset - (uint64_t)saved->offset;

	return saved->base == cfa->kind && !(distance & 7) && distance / 8 <= RULE_SAVED_MAX
		       ? distance / 8
		       : 0;
}

/* As the decoder of tables writes it. */
static unwind_rule rule_of_frame(enum unwind_kind kind, int64_t size, uint64_t saved,
				 uint64_t words)
{
	if (saved > 1 && words == saved - 1)
		words = ARCH_RETURN_BESIDE_FP;
	else if (!words || words > ARCH_RETURN_MAX)
		return rule_make(RULE_BROKEN, 0, 0);
	return rule_with_return(rule_make(kind, size / 8, saved), words);
}

/* The rule, if the function is left with these registers. */
static unwind_rule rule_at_end(const struct scan_state *s)
{
	const struct scan_value *cfa = &s->registers[REGISTER_SP];
	const struct scan_value *fp = &s->registers[REGISTER_FP];
	const struct scan_value *link = &s->registers[REGISTER_RETURN];
	const unwind_rule broken = rule_make(RULE_BROKEN, 0, 0);
	bool by_fp = cfa->kind == SCAN_FRAME;
	uint64_t saved = 0, words;

	if (!is_address(cfa) || cfa->offset & 7 || cfa->offset < 0 ||
	    cfa->offset / 8 > RULE_OFFSET_MAX || !is_return(link))
		return broken;
	if (fp->kind == SCAN_STACKED)
		saved = words_below(cfa, fp);
	if (!saved && (fp->kind != SCAN_FRAME || fp->offset))
		return broken;
	if (link->kind == SCAN_LINK)
		return rule_make(by_fp ? RULE_LINK_FP : RULE_LINK, cfa->offset / 8, saved);
	words = words_below(cfa, link);
	if (!words || !cfa->offset)
		return broken;
	return rule_of_frame(by_fp ? RULE_FP : RULE_SP, cfa->offset, saved, words);
}

static void keep_branch(struct scan_branch *b, const struct scan_state *s, const uint8_t *p)
{
	b->p = p;
	b->sp = s->registers[REGISTER_SP];
	b->fp = s->registers[REGISTER_FP];
	b->link = s->registers[REGISTER_RETURN];
	memcpy(b->at, s->at, sizeof(b->at));
	memcpy(b->stored, s->stored, sizeof(b->stored));
	b->stores = s->stores;
}

static void go_back_to(const struct scan_branch *b, struct scan_state *s)
{
	begin(s, false);
	s->registers[REGISTER_SP] = b->sp;
	s->registers[REGISTER_FP] = b->fp;
	s->registers[REGISTER_RETURN] = b->link;
	memcpy(s->at, b->at, sizeof(s->at));
	memcpy(s->stored, b->stored, sizeof(s->stored));
	s->stores = b->stores;
}

/* Is the instruction at p one that no way has come to? */
static bool is_new(struct scan_scratch *c, const uint8_t *middle, const uint8_t *p)
{
	uint64_t at = (uint64_t)p - (uint64_t)middle + SCAN_REACH, bit;

	if (at >= 2 * SCAN_REACH)
		return false;
	bit = at / 4;
	if (c->seen[bit / 8] >> bit % 8 & 1)
		return false;
	c->seen[bit / 8] |= (uint8_t)(1u << bit % 8);
	return true;
}

/* p and `distance` on; NULL if that is no code. */
static const uint8_t *moved(const uint8_t *low, const uint8_t *high, const uint8_t *p,
			    int64_t distance)
{
	if (distance < low - p || distance >= high - p)
		return NULL;
	return p + distance;
}

/* From a jump at p, whose own effect on the flow that is, to where the way goes on; NULL: nowhere.
 * Sets the rule if the function ends here. */
static const uint8_t *follow(struct scan_scratch *c, const uint8_t *p, enum flow flow,
			     const uint8_t *target, unsigned *waiting, unwind_rule *ret_rule)
{
	struct scan_state *s = &c->state;
	uint32_t w = word_at(p), behind = word_at(p + 4);
	int64_t none;

	if (flow_of(behind, &none) != FLOW_NEXT)
		return NULL;
	/* A stub of a call that is not bound yet leaves by calling the loader. */
	if (flow == FLOW_CALL && is_return(&s->registers[NUMBER_OF_STUB]))
		flow = FLOW_JUMP;
	else if (flow == FLOW_JUMP && rs_of(w) != REGISTER_RETURN && rs_of(w) != TARGET)
		return NULL;
	/* The instruction behind a jump comes before it takes effect; behind a branch of the likely
	 * kind only if that is taken. */
	if (flow == FLOW_LIKELY && *waiting < SCAN_BRANCHES)
		keep_branch(&c->branches[(*waiting)++], s, p + 8);
	if (!execute(s, behind))
		return NULL;
	switch (flow) {
	case FLOW_JUMP:
		*ret_rule = rule_at_end(s);
		c->lost |= rs_of(w) == TARGET && s->registers[REGISTER_RETURN].kind == SCAN_UNKNOWN;
		return NULL;
	case FLOW_CALL:
		forget_called(s);
		return p + 8;
	case FLOW_BRANCH:
		if (target && *waiting < SCAN_BRANCHES)
			keep_branch(&c->branches[(*waiting)++], s, target);
		return p + 8;
	default:
		return target;
	}
}

static unwind_rule scan_forward(const uint8_t *low, const uint8_t *high, const uint8_t *start,
				bool exact, struct scan_scratch *c)
{
	unwind_rule rule = rule_make(RULE_BROKEN, 0, 0);
	const uint8_t *p = start;
	unsigned waiting = 0;

	memset(c->seen, 0, sizeof(c->seen));
	c->lost = false;
	begin(&c->state, exact);
	for (unsigned steps = 0; steps < STEPS_MAX && rule_kind(rule) == RULE_BROKEN; steps++) {
		enum flow flow;
		int64_t distance;

		if (!p || high - p < 8 || !is_new(c, start, p)) {
			if (!waiting)
				break;
			p = c->branches[--waiting].p;
			go_back_to(&c->branches[waiting], &c->state);
			continue;
		}
		flow = flow_of(word_at(p), &distance);
		if (flow != FLOW_NEXT)
			p = follow(c, p, flow, moved(low, high, p, distance), &waiting, &rule);
		else
			p = execute(&c->state, word_at(p)) ? p + 4 : NULL;
	}
	return rule;
}

/* The rule in the function whose first instructions are at p, behind them; sets where that is. */
static unwind_rule rule_of_start(const uint8_t *p, const uint8_t *high, struct scan_state *s,
				 const uint8_t **ret_end)
{
	const struct scan_value *sp = &s->registers[REGISTER_SP], *fp = &s->registers[REGISTER_FP];
	enum flow flow = FLOW_NEXT;
	uint64_t saved = 0, words = 0;
	int64_t distance, size;
	bool by_fp;

	begin(s, true);
	for (unsigned i = 0; i < PROLOGUE_MAX && high - p >= 4; i++, p += 4) {
		bool last = flow != FLOW_NEXT; /* behind a jump */

		flow = flow_of(word_at(p), &distance);
		if (flow == FLOW_NEXT && !execute(s, word_at(p)))
			break;
		if (last)
			break;
	}
	*ret_end = p;
	/* Else it is a register like others, with the address of a variable. */
	by_fp = fp->kind == SCAN_STACK && fp->offset == sp->offset;
	size = -sp->offset;
	for (unsigned i = 0; i < s->stores; i++) {
		uint64_t below = (uint64_t)-s->at[i].offset;

		if (s->at[i].kind != SCAN_STACK || below & 7 || below / 8 > RULE_SAVED_MAX)
			continue;
		if (s->stored[i].kind == SCAN_LINK)
			words = below / 8;
		else if (s->stored[i].kind == SCAN_FRAME && !s->stored[i].offset)
			saved = below / 8;
	}
	if (sp->kind != SCAN_STACK || size <= 0 || size & 7 || size / 8 > RULE_OFFSET_MAX ||
	    (by_fp && !saved))
		return rule_make(RULE_BROKEN, 0, 0);
	return rule_of_frame(by_fp ? RULE_FP : RULE_SP, size, saved, words);
}

static unwind_rule scan_backward(const uint8_t *low, const uint8_t *high, const uint8_t *start,
				 bool exact, struct scan_scratch *c)
{
	const uint8_t *p = exact && high - start >= 4 ? start + 4 : start, *end;
	unwind_rule rule;

	for (unsigned i = 0; i < BACK_MAX && p - low >= 4; i++) {
		uint32_t w;

		p -= 4;
		w = word_at(p);
		if (w == NO_LINK || w == NO_LINK_TOO)
			return rule_make(RULE_END, 0, 0);
		if (w >> 16 != 0x67bd || !(w & 0x8000)) /* daddiu sp, sp, -… */
			continue;
		rule = rule_of_start(p, high, &c->state, &end);
		if (rule_kind(rule) != RULE_BROKEN)
			return end <= start ? rule : rule_make(RULE_BROKEN, 0, 0);
		/* Code that makes room, saves no return address and goes elsewhere for good has
		 * nobody to return to: the loader, before it jumps to the program's start. */
		if (c->lost)
			return rule_make(RULE_END, 0, 0);
	}
	return rule_make(RULE_BROKEN, 0, 0);
}

/* Code is words. */
static bool is_code(const uint8_t **low, const uint8_t *high, const uint8_t *p)
{
	*low += -(uint64_t)*low & 3;
	return !((uint64_t)p & 3) && p >= *low && p <= high && high - *low >= 8;
}

unwind_rule scan_ahead(const uint8_t *low, const uint8_t *high, const uint8_t *p, bool exact,
		       struct scan_scratch *scratch)
{
	return is_code(&low, high, p) ? scan_forward(low, high, p, exact, scratch)
				      : rule_make(RULE_BROKEN, 0, 0);
}

unwind_rule scan_back(const uint8_t *low, const uint8_t *high, const uint8_t *p, bool exact,
		      struct scan_scratch *scratch)
{
	return is_code(&low, high, p) ? scan_backward(low, high, p, exact, scratch)
				      : rule_make(RULE_BROKEN, 0, 0);
}
