/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the stubs are called that calls into other files go through (.plt and its like): the symbol
 * of the relocation that fills the slot which the stub jumps through.  One thread. */
#include <stdint.h>

#include "symbols/elf_file.h"

/* Reads the file's relocations; the file is borrowed. */
struct stubs *stubs_new(const struct elf_file *f);
struct stubs *stubs_free(struct stubs *s);
/* Is there a stub at an address?  Its symbol in *ret_name: borrowed, NULL if it is not known. */
bool stubs_find(const struct stubs *s, uint64_t address, const char **ret_name);
