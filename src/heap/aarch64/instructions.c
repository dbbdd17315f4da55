/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Instructions of AArch64, with Capstone.  See instructions.h.
 *
 * Its decoder keeps state in its handle, so one thread at a time has the one that there is. */
#include "heap/instructions.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static csh decoder; /* 0: not there yet; it stays */

static bool have_decoder(void)
{
	if (decoder)
		return true;
	if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &decoder) != CS_ERR_OK) {
		decoder = 0;
		return false;
	}
	cs_option(decoder, CS_OPT_DETAIL, CS_OPT_ON);
	return true;
}

/* Where the last operand leads, if the instruction says that by itself. */
static void find_target(struct instruction *i, const cs_insn *in)
{
	const cs_arm64 *detail = &in->detail->arm64;
	const cs_arm64_op *last = &detail->operands[detail->op_count ? detail->op_count - 1 : 0];

	if (detail->op_count && last->type == ARM64_OP_MEM && !last->mem.index) {
		i->adds = true;
		i->added = (uint64_t)last->mem.disp;
	}
	if (!detail->op_count || last->type != ARM64_OP_IMM)
		return;
	switch (in->id) {
	case ARM64_INS_B:
	case ARM64_INS_BL:
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		i->jumps = true;
		break;
	case ARM64_INS_ADRP:
		i->page = true;
		__attribute__((fallthrough));
	case ARM64_INS_ADR:
	case ARM64_INS_LDR:
	case ARM64_INS_LDRSW:
		i->refers = true;
		break;
	default:
		return;
	}
	i->target = (uint64_t)last->imm;
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
			     uint64_t address)
{
	cs_insn *in = NULL;
	size_t count = 0;

	*i = (struct instruction){ .size = size < 4 ? size : 4 };
	pthread_mutex_lock(&lock);
	if (have_decoder())
		count = cs_disasm(decoder, bytes, size, address, 1, &in);
	pthread_mutex_unlock(&lock);
	if (count) {
		find_target(i, in);
		put_text(i, in);
		cs_free(in, count);
	} else if (size < 4) {
		i->size = 1;
		snprintf(i->text, sizeof(i->text), ".byte  0x%02x", bytes[0]);
	} else {
		uint32_t word;

		memcpy(&word, bytes, sizeof(word));
		snprintf(i->text, sizeof(i->text), ".inst  0x%08" PRIx32, word);
	}
}

extern const struct instruction_set instructions_aarch64;
const struct instruction_set instructions_aarch64 = { EM_AARCH64, read_instruction };
