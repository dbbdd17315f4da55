/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Displaced instructions, x86-64, with Zydis.  See relocate.h.
 *
 * What is relative is made relative to the new place by a fix-up.  A call becomes a push of the
 * address behind it in the original function and a jump, so that no return address ever lies in the
 * copy, where an unwinder would find nothing.  What cannot be moved is refused. */
#include "collector/relocate.h"

#include <Zydis/Zydis.h>
#include <string.h>

const char relocate_features[] = "x86_Thread_features:";

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

#define ALIGNMENT 16 /* of functions; what is before it and no code is padding */
#define SCAN_MAX (256u << 10)

struct plan {
	const struct relocate_code *code;
	struct shm_site *site;
	ZydisDecoder decoder;
	size_t at; /* in the function */
	bool ended;
};

static bool decode(const struct plan *p, size_t at, size_t end, ZydisDecodedInstruction *ret)
{
	return at < end && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
				   &p->decoder, NULL, p->code->bytes + at, end - at, ret));
}

static bool put_code(struct shm_site *s, const void *bytes, size_t size)
{
	if (size > sizeof(s->code) - s->code_size)
		return false;
	memcpy(s->code + s->code_size, bytes, size);
	s->code_size = (uint8_t)(s->code_size + size);
	return true;
}

/* The last four bytes that were put are the distance to a target. */
static bool put_fix(struct shm_site *s, unsigned at, uint64_t target)
{
	if (s->fix_count == INPLACE_FIXES)
		return false;
	s->fixes[s->fix_count++] =
		(struct shm_fix){ .target = target, .at = (uint8_t)at, .end = s->code_size };
	return true;
}

static bool put_jump(struct shm_site *s, uint64_t target)
{
	static const uint8_t jump[] = { 0xe9, 0, 0, 0, 0 };

	return put_code(s, jump, sizeof(jump)) && put_fix(s, s->code_size - 4u, target);
}

/* push, as two halves: the instruction has room for one. */
static bool put_push(struct shm_site *s, uint64_t value)
{
	uint8_t push[] = { 0x68, 0, 0, 0, 0 }, upper[] = { 0xc7, 0x44, 0x24, 4, 0, 0, 0, 0 };
	uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);

	memcpy(push + 1, &low, 4);
	memcpy(upper + 4, &high, 4);
	return put_code(s, push, sizeof(push)) && put_code(s, upper, sizeof(upper));
}

static bool uses_rip(const ZydisDecodedInstruction *i)
{
	return i->attributes & ZYDIS_ATTRIB_HAS_MODRM && i->raw.modrm.mod == 0 &&
	       i->raw.modrm.rm == 5 && i->raw.disp.size == 32;
}

static bool ends_flow(const ZydisDecodedInstruction *i)
{
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT:
		return true;
	default:
		return false;
	}
}

/* Where a relative branch leads; false if it is none. */
static bool branch_target(const ZydisDecodedInstruction *i, uint64_t address, uint64_t *ret_target)
{
	if (!i->raw.imm[0].is_relative)
		return false;
	*ret_target = address + i->length + (uint64_t)i->raw.imm[0].value.s;
	return true;
}

static const char *move_branch(struct plan *p, const ZydisDecodedInstruction *i, uint64_t target)
{
	struct shm_site *s = p->site;
	uint8_t condition[] = { 0x0f, 0x80, 0, 0, 0, 0 };
	bool ok;

	switch (i->meta.category) {
	case ZYDIS_CATEGORY_UNCOND_BR:
		ok = i->mnemonic == ZYDIS_MNEMONIC_JMP && put_jump(s, target);
		break;
	case ZYDIS_CATEGORY_CALL:
		ok = put_push(s, p->code->address + p->at + i->length) && put_jump(s, target);
		p->ended = true;
		break;
	case ZYDIS_CATEGORY_COND_BR:
		/* Not loop and jrcxz, which reach no further than a byte's distance. */
		condition[1] |= i->opcode & 15;
		ok = (i->opcode & 0xf0) == (i->opcode_map == ZYDIS_OPCODE_MAP_0F ? 0x80 : 0x70) &&
		     put_code(s, condition, sizeof(condition)) &&
		     put_fix(s, s->code_size - 4u, target);
		break;
	default:
		ok = false;
	}
	return ok ? NULL : "it starts with a branch that cannot be moved";
}

/* call *there(%rip) */
static const char *move_indirect_call(struct plan *p, const ZydisDecodedInstruction *i,
				      uint64_t target)
{
	static const uint8_t jump[] = { 0xff, 0x25, 0, 0, 0, 0 };
	struct shm_site *s = p->site;

	p->ended = true;
	return put_push(s, p->code->address + p->at + i->length) &&
			       put_code(s, jump, sizeof(jump)) &&
			       put_fix(s, s->code_size - 4u, target)
		       ? NULL
		       : "its start does not fit";
}

static const char *move_instruction(struct plan *p, const ZydisDecodedInstruction *i,
				    bool shadow_stack)
{
	struct shm_site *s = p->site;
	uint64_t here = p->code->address + p->at, target;
	unsigned start = s->code_size;
	bool call = i->meta.category == ZYDIS_CATEGORY_CALL;

	if (call && shadow_stack)
		return "it starts with a call, which a shadow stack ties to its place";
	if (branch_target(i, here, &target))
		return move_branch(p, i, target);
	if (i->attributes & ZYDIS_ATTRIB_IS_RELATIVE && !uses_rip(i))
		return "it starts with an instruction that cannot be moved";
	target = here + i->length + (uint64_t)i->raw.disp.value;
	if (call && !uses_rip(i))
		return "it starts with an indirect call";
	if (call)
		return move_indirect_call(p, i, target);
	if (!put_code(s, p->code->bytes + p->at, i->length) ||
	    (uses_rip(i) && !put_fix(s, start + i->raw.disp.offset, target)))
		return "its start does not fit";
	return NULL;
}

/* Is what follows a function that is shorter than the jump nothing but filling? */
static bool padded(const struct plan *p, size_t from, size_t to)
{
	ZydisDecodedInstruction i;

	if ((p->code->address + from) / ALIGNMENT != (p->code->address + to - 1) / ALIGNMENT ||
	    !((p->code->address + from) % ALIGNMENT))
		return false;
	for (size_t at = from; at < to; at += i.length)
		if (!decode(p, at, p->code->room, &i) ||
		    (i.mnemonic != ZYDIS_MNEMONIC_NOP && i.mnemonic != ZYDIS_MNEMONIC_INT3))
			return false;
	return true;
}

/* Does the function come back to what is displaced?  A call of its entry is another call of it. */
static bool comes_back(const struct plan *p, size_t end)
{
	const struct relocate_code *code = p->code;
	uint64_t from = code->address, to = p->site->address + p->site->displaced, target;
	ZydisDecodedInstruction i;

	for (size_t at = 0; at < end && decode(p, at, end, &i); at += i.length)
		if (branch_target(&i, code->address + at, &target) && target >= from &&
		    target < to && !(i.meta.category == ZYDIS_CATEGORY_CALL && target == from))
			return true;
	return false;
}

const char *relocate_entry(const struct relocate_code *code, bool shadow_stack,
			   struct shm_site *site)
{
	struct plan p = { .code = code, .site = site };
	size_t start = 0, end = code->size < code->room ? code->size : code->room;
	ZydisDecodedInstruction i;
	const char *why;

	ZydisDecoderInit(&p.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	site->fix_count = site->code_size = 0;
	if (!code->size)
		return "its size is not known";
	if (end > sizeof(endbr64) && !memcmp(code->bytes, endbr64, sizeof(endbr64)))
		start = sizeof(endbr64);
	for (p.at = start; p.at < start + ARCH_JUMP && !p.ended; p.at += i.length) {
		if (p.at >= end || !decode(&p, p.at, end, &i))
			return "its code is not understood";
		why = move_instruction(&p, &i, shadow_stack);
		if (why)
			return why;
		p.ended |= ends_flow(&i);
	}
	if (p.at < start + ARCH_JUMP) {
		if (p.at != end || start + ARCH_JUMP > code->room ||
		    !padded(&p, p.at, start + ARCH_JUMP))
			return "it is too short for a jump";
		p.at = start + ARCH_JUMP;
	}
	site->entry = code->address;
	site->address = code->address + start;
	site->displaced = (uint8_t)(p.at - start);
	if (site->displaced > sizeof(site->original))
		return "its start does not fit";
	memcpy(site->original, code->bytes + start, site->displaced);
	if (!p.ended && !put_jump(site, code->address + p.at))
		return "its start does not fit";
	if (comes_back(&p, end < SCAN_MAX ? end : SCAN_MAX))
		return "it jumps back to its start";
	return NULL;
}

int relocate_jump_into(const uint8_t *bytes, size_t size, uint64_t address,
		       const struct shm_site *sites, unsigned count)
{
	for (size_t at = 0; at + 6 <= size; at++) {
		unsigned length = bytes[at] == 0xe9 ? 5 : 6;
		uint64_t target;
		int32_t distance;

		if (length == 6 && (bytes[at] != 0x0f || (bytes[at + 1] & 0xf0) != 0x80))
			continue;
		memcpy(&distance, bytes + at + length - 4, 4);
		target = address + at + length + (uint64_t)(int64_t)distance;
		for (unsigned i = 0; i < count; i++)
			if (target - sites[i].address - 1 < sites[i].displaced - 1u)
				return (int)i;
	}
	return -1;
}
