/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The little that the collector and `memoir run` need to know of an ELF file.  Pure functions on
 * bytes that may be anything. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elf_kind {
	ELF_NONE,    /* not an ELF file, or a broken one */
	ELF_DYNAMIC, /* of this machine, with an interpreter: LD_PRELOAD works */
	ELF_STATIC,  /* of this machine, without one */
	ELF_LIBRARY, /* of this machine, a shared object that is not a program */
	ELF_FOREIGN, /* of another machine, or 32-bit */
};

struct elf_notes {
	uint64_t offset, size; /* where the PT_NOTE segments are that may hold the build id */
};

/* What the file is, from its first bytes (the program headers must be within them). */
enum elf_kind elf_kind_of(const uint8_t *bytes, size_t size);
/* The `n`th PT_NOTE segment; false if there is none, or the headers lie outside. */
bool elf_notes(const uint8_t *bytes, size_t size, unsigned n, struct elf_notes *ret_notes);
/* A note's data in the bytes of a PT_NOTE segment, or NULL. */
const uint8_t *elf_note(const uint8_t *notes, size_t size, const char *name, uint32_t type,
			size_t *ret_size);
/* The build id among them. */
const uint8_t *elf_build_id(const uint8_t *notes, size_t size, size_t *ret_size);
