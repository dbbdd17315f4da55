/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Finding allocators inside a program's files, and planning how to hook them there.  The recorder
 * asks before the program runs; see wire/inplace.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/inplace.h"

/* A file of the program. */
struct inplace_file {
	const uint8_t *bytes;
	size_t size;
	uint64_t low, high; /* where it is mapped, gaps between its segments included */
	uint64_t bias;	    /* run-time address minus the file's */
	const char *name;   /* for people */
	bool executable;    /* the program itself: names without a prefix count too */
	bool libc;	    /* its calls that map memory are wanted */
	bool shadow_stack;
};

/* Adds the sites of a file to the plan.  The bytes may be anything. */
void inplace_plan(struct shm_plan *plan, const struct inplace_file *file);
/* What the file's first segment is mapped at, before relocation, and how far it is from there to
 * the end of the last; false if it is no ELF file. */
bool inplace_base(const uint8_t *bytes, size_t size, uint64_t *ret_base, uint64_t *ret_span);

struct collector;
/* Answers the recorder, if it has asked. */
void inplace_answer(struct collector *c);
/* Looks at files that have come since, with new maps: it is only said that they are not hooked. */
void inplace_look_again(struct collector *c);
