/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Instructions of ARM with 32 bits, Thumb and A32, with Capstone.  See instructions.h.
 *
 * Which of the two a function has, and what of it are constants, say the symbols $t, $a and $d that
 * assemblers write; in a stripped file, bit 0 of the function's address among the exported ones.
 * An instruction behind an `it` has the condition that the `it` says, and is shown without.
 *
 * Capstone's decoder keeps state in its handle, so one thread at a time has the one that there is
 * of each kind. */
#include "heap/instructions.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbols/elf_file.h"

#define TABLE_MAX (256u << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static csh decoders[2]; /* A32, Thumb; 0: not there yet; they stay */

static bool have_decoder(bool thumb)
{
	if (decoders[thumb])
		return true;
	if (cs_open(CS_ARCH_ARM, thumb ? CS_MODE_THUMB : CS_MODE_ARM, &decoders[thumb]) !=
	    CS_ERR_OK) {
		decoders[thumb] = 0;
		return false;
	}
	cs_option(decoders[thumb], CS_OPT_DETAIL, CS_OPT_ON);
	return true;
}

/* add ip, pc, #number, or to ip itself: eight bits, rotated by an even number. */
static bool adds_to_ip(const uint8_t *bytes, bool *ret_itself, uint64_t *ret_number)
{
	uint32_t word, number;
	unsigned by;

	memcpy(&word, bytes, sizeof(word));
	by = (word >> 8 & 15) * 2;
	number = word & 0xff;
	if (word >> 12 != 0xe28fc && word >> 12 != 0xe28cc)
		return false;
	*ret_itself = word >> 12 == 0xe28cc;
	*ret_number = by ? number >> by | number << (32 - by) : number;
	return true;
}

/* Where the last operand leads, if the instruction says that by itself; and the three instructions
 * of a stub: add ip, pc, #; add ip, ip, #; ldr pc, [ip, #]. */
static void find_target(struct instruction *i, const cs_insn *in, bool thumb)
{
	const cs_arm *d = &in->detail->arm;
	const cs_arm_op *last = &d->operands[d->op_count ? d->op_count - 1 : 0];
	uint64_t pc = in->address + (thumb ? 4 : 8);

	if (!d->op_count)
		return;
	if (last->type == ARM_OP_MEM && last->mem.base == ARM_REG_PC && !last->mem.index) {
		i->refers = true;
		i->target = (pc & ~3ull) + (uint64_t)(int64_t)last->mem.disp;
	} else if (last->type == ARM_OP_MEM && !last->mem.index) {
		i->adds = true;
		i->added = (uint64_t)(int64_t)last->mem.disp;
	} else if (!thumb && adds_to_ip(in->bytes, &i->adds, &i->added)) {
		i->page = true;
		i->target = pc + i->added;
	} else if (last->type == ARM_OP_IMM &&
		   (in->id == ARM_INS_B || in->id == ARM_INS_BL || in->id == ARM_INS_BLX ||
		    in->id == ARM_INS_CBZ || in->id == ARM_INS_CBNZ)) {
		i->jumps = true;
		i->target = (uint32_t)last->imm;
	}
}

/* Mnemonics in a column; the target of a jump as a number alone, before which its name goes. */
static void put_text(struct instruction *i, const cs_insn *in)
{
	const char *number = i->jumps ? strrchr(in->op_str, '#') : NULL;

	if (!*in->op_str)
		snprintf(i->text, sizeof(i->text), "%s", in->mnemonic);
	else if (number)
		snprintf(i->text, sizeof(i->text), "%-6s %.*s%" PRIx64, in->mnemonic,
			 (int)(number - in->op_str), in->op_str, i->target);
	else
		snprintf(i->text, sizeof(i->text), "%-6s %s", in->mnemonic, in->op_str);
}

static void read_instruction(struct instruction *i, const uint8_t *bytes, size_t size,
			     uint64_t address, bool thumb)
{
	size_t unit = thumb ? 2 : 4, count = 0;
	cs_insn *in = NULL;

	*i = (struct instruction){ .size = size < unit ? 1 : unit };
	pthread_mutex_lock(&lock);
	if (have_decoder(thumb))
		count = cs_disasm(decoders[thumb], bytes, size, address, 1, &in);
	pthread_mutex_unlock(&lock);
	if (count) {
		i->size = in->size;
		find_target(i, in, thumb);
		put_text(i, in);
		cs_free(in, count);
	} else if (size < unit) {
		snprintf(i->text, sizeof(i->text), ".byte  0x%02x", bytes[0]);
	} else {
		uint32_t word = 0;

		memcpy(&word, bytes, unit);
		snprintf(i->text, sizeof(i->text), ".inst  0x%0*" PRIx32, (int)(2 * unit), word);
	}
}

static void read_a32(struct instruction *i, const uint8_t *bytes, size_t size, uint64_t address)
{
	read_instruction(i, bytes, size, address, false);
}

static void read_thumb(struct instruction *i, const uint8_t *bytes, size_t size, uint64_t address)
{
	read_instruction(i, bytes, size, address, true);
}

static const struct instruction_set thumb_set = { EM_ARM, read_thumb, NULL };

/* What one table of symbols says about a function: 't' or 'a' as its code is, or 0; and where kinds
 * begin in it. */
static char look_through(const struct elf_file *f, uint32_t table, uint64_t start, size_t size,
			 char *kinds)
{
	const Elf64_Shdr *s = elf_file_section_of_type(f, table), *t = NULL;
	uint8_t *symbols = NULL;
	char *texts = NULL, kind = 0;
	uint64_t nearest = 0;

	if (s && s->sh_link < f->count) {
		t = &f->sections[s->sh_link];
		symbols = elf_file_content(f, s, TABLE_MAX);
		texts = (char *)elf_file_content(f, t, TABLE_MAX);
	}
	for (size_t i = 0; symbols && texts && i < elf_file_symbol_count(f, s->sh_size); i++) {
		Elf32_Sym sym;
		const char *name;

		memcpy(&sym, symbols + i * sizeof(sym), sizeof(sym));
		name = sym.st_name < t->sh_size ? texts + sym.st_name : "";
		if (ELF32_ST_TYPE(sym.st_info) == STT_FUNC && (sym.st_value & ~1u) == start &&
		    !nearest)
			kind = sym.st_value & 1 ? 't' : 'a';
		if (name[0] != '$' || !strchr("tad", name[1]) || (name[2] && name[2] != '.'))
			continue;
		if (sym.st_value >= start && sym.st_value - start < size)
			kinds[sym.st_value - start] = name[1];
		if (name[1] != 'd' && sym.st_value <= start && sym.st_value >= nearest) {
			nearest = sym.st_value;
			kind = name[1];
		}
	}
	free(symbols);
	free(texts);
	return kind;
}

static const struct instruction_set *select_set(const struct elf_file *f, uint64_t start,
						size_t size, bool *constant);

extern const struct instruction_set instructions_arm;
const struct instruction_set instructions_arm = { EM_ARM, read_a32, select_set };

static const struct instruction_set *select_set(const struct elf_file *f, uint64_t start,
						size_t size, bool *constant)
{
	char kind = 0, now = 0, *kinds = f->narrow ? xcalloc(size, 1) : NULL;

	if (kinds) {
		kind = look_through(f, SHT_SYMTAB, start, size, kinds);
		kind = kind ? kind : look_through(f, SHT_DYNSYM, start, size, kinds);
	}
	for (size_t i = 0; kinds && i < size; i++) {
		now = kinds[i] ? kinds[i] : now;
		constant[i] = now == 'd';
	}
	free(kinds);
	return kind == 't' ? &thumb_set : &instructions_arm;
}
