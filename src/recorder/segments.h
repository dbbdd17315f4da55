/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The program headers of a loaded file: which parts of the address space are its own. */
#include "target/elf.h"

/* At the start, while the kernel's vector is where it was. */
void segments_init(void) HIDDEN;
/* Those of the file that the loader found at an address; NULL if they are not in memory. */
const ElfW(Phdr) * segments_of(const struct dl_find_object *o, uint32_t *ret_count) HIDDEN;
