/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Where functions begin, of a program that has no names any more: the table that exceptions and
 * stacks are unwound by (.eh_frame_hdr) is kept when symbols are stripped. */
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"

struct starts {
	uint64_t *rows; /* addresses as the ELF file counts, rising */
	size_t count;
};

/* Empty where there is no such table, or one that is not as linkers write it. */
void starts_read(struct starts *s, const struct elf_file *f);
void starts_release(struct starts *s);
/* Of the function that an address is in, and where the next one begins; 0: not known. */
uint64_t starts_find(const struct starts *s, uint64_t address, uint64_t *ret_next);
