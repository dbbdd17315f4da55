/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which decoders there are.  See instructions.h. */
#include "heap/instructions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INSTRUCTIONS(arch) extern const struct instruction_set instructions_##arch;
#include "heap/instruction_sets.inc"
#undef INSTRUCTIONS

static const struct instruction_set *const sets[] = {
#define INSTRUCTIONS(arch) &instructions_##arch,
#include "heap/instruction_sets.inc"
};

void instruction_constant(struct instruction *i, const uint8_t *bytes, const bool *constant,
			  size_t size)
{
	uint32_t word;

	*i = (struct instruction){ .size = 1 };
	if (size < sizeof(word) || !constant[3]) {
		snprintf(i->text, sizeof(i->text), ".byte  0x%02x", bytes[0]);
		return;
	}
	memcpy(&word, bytes, sizeof(word));
	i->size = sizeof(word);
	snprintf(i->text, sizeof(i->text), ".word  0x%08" PRIx32, word);
}

const struct instruction_set *instruction_set(unsigned machine)
{
	for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (sets[i]->machine == machine)
			return sets[i];
	return NULL;
}
