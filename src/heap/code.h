/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The code behind a profile's locations: functions with their extent, lines and bytes, from the
 * files that the locations were named with.
 *
 * For reports that show more of a function than the addresses in a dump.  The profile is finished
 * and stays; one thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/profile.h"
#include "symbols/symbols.h"

struct instruction_set;

struct code_function {
	uint32_t module;
	uint64_t start, end;
	char *name;
};

struct code *code_new(const struct profile *p);
struct code *code_free(struct code *c);
/* The number of the function that a location is in, or SIZE_MAX: its file, or its symbol, is not
 * known. */
size_t code_function_of(struct code *c, const struct heap_location *location);
size_t code_function_count(const struct code *c);
/* Borrowed until the next call of code_function_of(). */
const struct code_function *code_function(const struct code *c, size_t function);

/* The names and lines of an address; the caller releases them. */
void code_resolve(struct code *c, uint32_t module, uint64_t address, struct symbol *ret);
/* The addresses in a function at which lines begin; the caller frees the rows. */
void code_steps(struct code *c, size_t function, struct symbols_steps *ret);
/* The function that begins at or holds an address; "name" or "name+0x12", or NULL.  The caller
 * frees it. */
char *code_target(struct code *c, uint32_t module, uint64_t address);
/* A function's bytes, and what decodes them; NULL if they cannot be read or are of a processor that
 * instructions.h does not know.  The caller frees them, and what
 * says which of them are no code (NULL: all are). */
uint8_t *code_bytes(struct code *c, size_t function, size_t *ret_size,
		    const struct instruction_set **ret_set, bool **ret_constant);
