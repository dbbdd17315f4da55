/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Machine code as text, an instruction at a time.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

struct instruction {
	size_t size;	/* at least 1 */
	char text[208]; /* as objdump writes it; a byte that is no instruction is .byte */
	bool jumps;	/* to `target`, or calls it */
	bool refers;	/* to memory at `target` */
	uint64_t target;
	bool page; /* `target` is a page; where in it, a later instruction says (one that is `page`
		    * and `adds` says it in part): */
	bool adds; /* `added` to a register */
	uint64_t added;
};

/* A decoder for the code of one processor: src/heap/<arch>/instructions.c. */
struct instruction_set {
	unsigned machine; /* as ELF files number it */
	/* The first instruction of `size` bytes (at least 1), which are at `address`. */
	void (*read)(struct instruction *i, const uint8_t *bytes, size_t size, uint64_t address);
	/* Where a file has code of several kinds, and constants between: the decoder of the
	 * function at `start`, and which of its `size` bytes are no code.  NULL: it is this one. */
	const struct instruction_set *(*select)(const struct elf_file *f, uint64_t start,
						size_t size, bool *constant);
};

/* A constant among instructions. */
void instruction_constant(struct instruction *i, const uint8_t *bytes, const bool *constant,
			  size_t size);
/* That of a processor; NULL if there is none. */
const struct instruction_set *instruction_set(unsigned machine);
