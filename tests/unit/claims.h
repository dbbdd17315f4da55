/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Conditions made up at random, each with the rows that it must hold for by brute force. */
#include <stdbool.h>
#include <stdint.h>

#include "brute.h"

/* One condition: its text, and which rows it holds for. */
struct claim {
	char text[2000];
	bool *rows;
};

enum { EQ, NE, LT, LE, GT, GE, OPS };

/* Fields that are numbers, as they are shown: bytes, pieces, ns. */
#define CLAIM_NUMBERS 21
extern const char *const claim_numbers[CLAIM_NUMBERS];
unsigned claim_number_called(const char *name);
bool claim_is_ns(unsigned i);
/* False: the row has none. */
bool claim_value(const struct brute *b, unsigned i, uint32_t row, uint64_t *ret_value);
/* Fields that are flags. */
#define CLAIM_FLAGS 11
extern const char *const claim_flags[CLAIM_FLAGS];

struct frame_wish {
	const char *function, *file; /* parts of names; NULL: any */
};
/* For brute_frames(). */
bool claim_frame_fits(void *context, const char *function, const char *file, uint32_t line,
		      uint32_t module);

uint32_t claim_random(uint32_t n);
void claim_number(const struct brute *b, struct claim *c, unsigned i, unsigned op, uint64_t value);
void claim_flag(const struct brute *b, struct claim *c, unsigned i);
/* and, or, not over conditions of every kind, to a depth. */
void claim_tree(const struct brute *b, struct claim *c, unsigned depth);
