/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The displaced instruction, AArch64.  See relocate.h.
 *
 * A jump is one instruction and displaces one.  Few of them know where they are: adr, adrp, ldr of
 * a literal, and branches.  What these refer to comes as a literal behind the moved code, so that
 * the code can lie anywhere and nothing has to be fixed up.  The way back uses x16 or x17, which no
 * code expects to be kept at a function's entry unless the moved instruction itself has them.
 *
 * A function may start with a mark for indirect branches (bti), or sign the return address
 * (paciasp), which is such a mark, too.  That instruction stays; the signature is taken back in the
 * stub (recorder/aarch64/patch.h), and made again on the way to the original function. */
#include "collector/relocate.h"

#include <string.h>

const char relocate_features[] = "x86_Thread_features:"; /* no such line */

#define BTI_MASK 0xffffff3fu /* bti, and bti with c, j or both */
#define BTI 0xd503241fu
#define PACIASP 0xd503233fu
#define PACIBSP 0xd503237fu
#define LINK 30u
#define SCAN_MAX (256u << 10)
#define LITERALS 2

struct plan {
	struct shm_site *site;
	uint64_t literals[LITERALS]; /* behind the code */
	uint8_t refers[LITERALS];    /* where in the code they are loaded */
	unsigned literal_count;
	bool fits;
};

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static void put(struct plan *p, uint32_t word)
{
	struct shm_site *s = p->site;

	if (s->code_size + sizeof(word) > sizeof(s->code)) {
		p->fits = false;
		return;
	}
	memcpy(s->code + s->code_size, &word, sizeof(word));
	s->code_size = (uint8_t)(s->code_size + sizeof(word));
}

/* ldr x<reg>, =value */
static void put_value(struct plan *p, unsigned reg, uint64_t value)
{
	if (p->literal_count == LITERALS) {
		p->fits = false;
		return;
	}
	p->literals[p->literal_count] = value;
	p->refers[p->literal_count++] = p->site->code_size;
	put(p, 0x58000000 | reg);
}

static void put_jump(struct plan *p, unsigned scratch, uint64_t target)
{
	put_value(p, scratch, target);
	put(p, 0xd61f0000 | scratch << 5); /* br */
}

static void put_literals(struct plan *p)
{
	struct shm_site *s = p->site;

	if (s->code_size % 8)
		put(p, 0xd503201f); /* nop */
	for (unsigned i = 0; i < p->literal_count; i++) {
		uint32_t load, distance = (uint32_t)(s->code_size - p->refers[i]) / 4;

		load = word_at(s->code + p->refers[i]) | distance << 5;
		memcpy(s->code + p->refers[i], &load, sizeof(load));
		put(p, (uint32_t)p->literals[i]);
		put(p, (uint32_t)(p->literals[i] >> 32));
	}
}

/* The signed number in `size` bits from bit `from` on. */
static int64_t number(uint32_t word, unsigned from, unsigned size)
{
	return (int64_t)((uint64_t)word << (64 - from - size)) >> (64 - size);
}

enum kind { PLAIN, BRANCH, CALL, CONDITION, ADDRESS, LOAD, INDIRECT_CALL, END, UNMOVABLE };

/* What an instruction is, and what it refers to where that depends on its place. */
static enum kind classify(uint32_t word, uint64_t at, uint64_t *ret_target)
{
	*ret_target = 0;
	if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
		*ret_target = at + (uint64_t)(number(word, 0, 26) * 4);
		return word >> 31 ? CALL : BRANCH;
	}
	if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		*ret_target = at + (uint64_t)(number(word, 5, 19) * 4); /* b.cond, cbz */
		return CONDITION;
	}
	if ((word & 0x7e000000) == 0x36000000) { /* tbz */
		*ret_target = at + (uint64_t)(number(word, 5, 14) * 4);
		return CONDITION;
	}
	if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
		int64_t distance = number(word, 5, 19) * 4 + (word >> 29 & 3);

		*ret_target = word >> 31 ? (at & ~0xfffull) + (uint64_t)(distance * 4096)
					 : at + (uint64_t)distance;
		return ADDRESS;
	}
	if ((word & 0x3b000000) == 0x18000000) { /* ldr of a literal */
		*ret_target = at + (uint64_t)(number(word, 5, 19) * 4);
		return LOAD;
	}
	if ((word & 0xfffffc1f) == 0xd63f0000)
		return (word >> 5 & 31) == LINK ? UNMOVABLE : INDIRECT_CALL;
	if ((word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfffffc1f) == 0xd65f0000 ||
	    (word & 0xffe0001f) == 0xd4200000 || !(word >> 16)) /* br, ret, brk, udf */
		return END;
	if ((word & 0xfe000000) == 0xd6000000)
		return UNMOVABLE; /* branches with authentication */
	return PLAIN;
}

/* The same load from the address in a register; 0 for one that only asks ahead. */
static uint32_t load_from(uint32_t word, unsigned base)
{
	static const uint32_t loads[2][4] = {
		{ 0xb9400000, 0xf9400000, 0xb9800000, 0 },
		{ 0xbd400000, 0xfd400000, 0x3dc00000, 0 },
	};
	uint32_t load = loads[word >> 26 & 1][word >> 30];

	return load ? load | base << 5 | (word & 31) : 0xd503201f;
}

/* x16, or x17 where the instruction has x16; 0 if it has both. */
static unsigned scratch_for(uint32_t word)
{
	bool has[2] = { false };

	for (unsigned at = 0; at < 2; at++)
		for (unsigned field = 0; field <= 16; field += field == 10 ? 6 : 5)
			has[at] |= (word >> field & 31) == 16 + at;
	return !has[0] ? 16 : !has[1] ? 17 : 0;
}

/* A branch over the way back, if it is taken. */
static uint32_t branch_over(uint32_t word)
{
	unsigned bits = (word & 0x7e000000) == 0x36000000 ? 14 : 19;
	uint32_t mask = ((1u << bits) - 1) << 5;

	return (word & ~mask) | 3u << 5;
}

/* Moves the instruction; what follows it is at `next`. */
static const char *move(struct plan *p, uint32_t word, uint64_t at)
{
	uint64_t target, next = at + 4;
	enum kind kind = classify(word, at, &target);
	/* Those that have no registers but bits that look like some. */
	bool bare = kind == BRANCH || kind == CALL || kind == CONDITION || kind == END;
	unsigned scratch = bare ? 16 : scratch_for(word);

	if (kind == ADDRESS || kind == LOAD)
		scratch = (word & 31) == 16 ? 17 : 16;
	if (kind == CONDITION && (word & 0x7e000000) != 0x54000000 && (word & 31) == 16)
		scratch = 17;
	if (!scratch || kind == UNMOVABLE)
		return "it starts with an instruction that cannot be moved";
	switch (kind) {
	case BRANCH:
		put_jump(p, scratch, target);
		return NULL;
	case CALL:
		put_value(p, LINK, next);
		put_jump(p, scratch, target);
		return NULL;
	case INDIRECT_CALL:
		put_value(p, LINK, next);
		put(p, 0xd61f0000 | (word & 31u << 5)); /* br */
		return NULL;
	case CONDITION:
		put(p, branch_over(word));
		put_jump(p, scratch, next);
		put_jump(p, scratch, target);
		return NULL;
	case ADDRESS:
		if ((word & 31) != 31)
			put_value(p, word & 31, target);
		break;
	case LOAD:
		put_value(p, scratch, target);
		put(p, load_from(word, scratch));
		break;
	case END:
		put(p, word);
		return NULL;
	default:
		put(p, word);
	}
	put_jump(p, scratch, next);
	return NULL;
}

/* Does the function come back to what is displaced?  A call of its entry is another call of it. */
static bool comes_back(const struct relocate_code *code, size_t end, const struct shm_site *s)
{
	for (size_t at = 0; at + 4 <= end; at += 4) {
		uint64_t target;
		enum kind kind = classify(word_at(code->bytes + at), code->address + at, &target);

		if ((kind == BRANCH || kind == CONDITION || kind == CALL) &&
		    target >= code->address && target < s->address + s->displaced &&
		    !(kind == CALL && target == code->address))
			return true;
	}
	return false;
}

const char *relocate_entry(const struct relocate_code *code,
			   __attribute__((unused)) bool shadow_stack, struct shm_site *site)
{
	struct plan p = { .site = site, .fits = true };
	size_t start = 0, end = code->size < code->room ? code->size : code->room;
	const char *why;
	uint32_t first;

	site->fix_count = site->code_size = 0;
	if (!code->size)
		return "its size is not known";
	if (end < 4 || code->address % 4)
		return "it is too short for a jump";
	first = word_at(code->bytes);
	if ((first & BTI_MASK) == BTI || first == PACIASP || first == PACIBSP)
		start = 4;
	if (end < start + 4)
		return "it is too short for a jump";
	if (first == PACIASP || first == PACIBSP)
		put(&p, first);
	why = move(&p, word_at(code->bytes + start), code->address + start);
	if (why)
		return why;
	put_literals(&p);
	if (!p.fits)
		return "its start does not fit";
	site->entry = code->address;
	site->address = code->address + start;
	site->displaced = 4;
	memcpy(site->original, code->bytes + start, 4);
	if (comes_back(code, end < SCAN_MAX ? end : SCAN_MAX, site))
		return "it jumps back to its start";
	return NULL;
}

/* Nothing is displaced behind the first. */
int relocate_jump_into(__attribute__((unused)) const uint8_t *bytes,
		       __attribute__((unused)) size_t size,
		       __attribute__((unused)) uint64_t address,
		       __attribute__((unused)) const struct shm_site *sites,
		       __attribute__((unused)) unsigned count)
{
	return -1;
}
