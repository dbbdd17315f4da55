/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Machine code as text, an instruction at a time.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instruction {
	size_t size;	/* at least 1 */
	char text[128]; /* as objdump writes it; a byte that is no instruction is .byte */
	bool jumps;	/* to `target`, or calls it */
	bool refers;	/* to memory at `target` */
	uint64_t target;
};

/* Is there a decoder for code of this processor, as ELF files number it? */
bool instruction_knows(unsigned machine);
/* The first instruction of `size` bytes (at least 1), which are at `address`. */
void instruction_read(struct instruction *i, const uint8_t *bytes, size_t size, uint64_t address);
