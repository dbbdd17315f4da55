/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Instructions of x86-64, with Zydis, in the notation of AT&T.  See instructions.h. */
#include "heap/instructions.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

static void setup(ZydisDecoder *decoder, ZydisFormatter *formatter)
{
	ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
}

/* Where an operand leads, if the instruction says that by itself. */
static void find_target(struct instruction *i, const ZydisDecodedInstruction *in,
			const ZydisDecodedOperand *operands, uint64_t address)
{
	for (unsigned n = 0; n < in->operand_count_visible; n++) {
		const ZydisDecodedOperand *o = &operands[n];
		ZyanU64 target;

		if (!(o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) &&
		    !(o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP))
			continue;
		if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(in, o, address, &target)))
			continue;
		i->target = target;
		i->jumps = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		i->refers = !i->jumps;
	}
}

/* Mnemonics in a column, so that operands are easily read. */
static void align(struct instruction *i, const char *text)
{
	const char *blank = strchr(text, ' ');

	if (blank)
		snprintf(i->text, sizeof(i->text), "%-6.*s %s", (int)(blank - text), text,
			 blank + 1);
	else
		snprintf(i->text, sizeof(i->text), "%s", text);
}

static void read_instruction(struct instruction *i, const uint8_t *bytes, size_t size,
			     uint64_t address)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisFormatter formatter;
	ZydisDecoder decoder;
	char text[112];

	setup(&decoder, &formatter);
	*i = (struct instruction){ .size = 1 };
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &in, operands)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &in, operands,
							  in.operand_count_visible, text,
							  sizeof(text), address, NULL))) {
		snprintf(i->text, sizeof(i->text), ".byte  0x%02x", bytes[0]);
		return;
	}
	i->size = in.length;
	align(i, text);
	find_target(i, &in, operands, address);
}

extern const struct instruction_set instructions_x86_64;
const struct instruction_set instructions_x86_64 = { EM_X86_64, read_instruction };
