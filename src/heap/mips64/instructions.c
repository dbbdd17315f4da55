/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Instructions of MIPS64, little-endian, with Capstone.  See instructions.h.
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
	if (cs_open(CS_ARCH_MIPS, CS_MODE_MIPS64 | CS_MODE_LITTLE_ENDIAN, &decoder) != CS_ERR_OK) {
		decoder = 0;
		return false;
	}
	cs_option(decoder, CS_OPT_DETAIL, CS_OPT_ON);
	return true;
}

/* Is it a branch that says where it leads? */
static bool branches(const uint8_t *bytes)
{
	uint32_t word;
	unsigned op;

	memcpy(&word, bytes, sizeof(word));
	op = word >> 26;
	return (op == 1 && !(word >> 16 & 0xc)) || (op >= 2 && op <= 7) ||
	       (op >= 0x14 && op <= 0x17) || (op == 0x11 && (word >> 21 & 31) == 8);
}

/* Calls of other files go through a table that the code finds by a register: they do not say what
 * they call. */
static void find_target(struct instruction *i, const cs_insn *in, const uint8_t *bytes)
{
	const cs_mips *detail = &in->detail->mips;
	const cs_mips_op *last = &detail->operands[detail->op_count ? detail->op_count - 1 : 0];

	if (detail->op_count && last->type == MIPS_OP_IMM && branches(bytes)) {
		i->jumps = true;
		i->target = (uint64_t)last->imm;
	}
}

/* Mnemonics in a column; the target of a jump as a number alone, before which its name goes. */
static void put_text(struct instruction *i, const cs_insn *in)
{
	const char *number = i->jumps ? strstr(in->op_str, "0x") : NULL;
	const char *zero = in->id == MIPS_INS_ADDIU ? strstr(in->op_str, ", $zero, ") : NULL;

	if (zero) /* what objdump calls so */
		snprintf(i->text, sizeof(i->text), "li     %.*s%s", (int)(zero - in->op_str),
			 in->op_str, zero + strlen(", $zero"));
	else if (!*in->op_str)
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
		find_target(i, in, bytes);
		put_text(i, in);
		cs_free(in, count);
	} else if (size < 4) {
		i->size = 1;
		snprintf(i->text, sizeof(i->text), ".byte  0x%02x", bytes[0]);
	} else {
		uint32_t word;

		memcpy(&word, bytes, sizeof(word));
		snprintf(i->text, sizeof(i->text), ".word  0x%08" PRIx32, word);
	}
}

extern const struct instruction_set instructions_mips64;
const struct instruction_set instructions_mips64 = { EM_MIPS, read_instruction };
