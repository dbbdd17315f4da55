/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Allocators inside the executable, and libc's calls that map memory: the plan for hooking them
 * where they are.
 *
 * The collector makes it, from outside and from the files on disk: which functions there are, which
 * of their first instructions a jump displaces, and what those look like elsewhere.  The recorder
 * only checks that the bytes are what they should be, and writes: it decodes no instruction.
 *
 * A site's entry is overwritten with a jump to a stub near it, which goes to the recorder; the
 * displaced instructions, followed by a jump back, are the way to the original function. */
#include <stdatomic.h>
#include <stdint.h>

#include "wire/arch.h"

enum inplace_group {
	INPLACE_STANDARD,
	INPLACE_CXX,
	INPLACE_MI,
	INPLACE_TC,
	INPLACE_LIBC, /* libc's calls that map memory */
};

enum inplace_op {
	INPLACE_NEW,		 /* returns a new block */
	INPLACE_NEW_OUT,	 /* stores it where the argument `pointer` says, and returns 0 */
	INPLACE_RESIZE,		 /* realloc */
	INPLACE_RESIZE_IN_PLACE, /* never moves it */
	INPLACE_END,		 /* free */
	INPLACE_USABLE,		 /* tells the size of a block; not hooked */
	INPLACE_MAPS,		 /* what `call` says: recorder/maps.c */
};

enum inplace_flags {
	INPLACE_ZEROED = 1,
	INPLACE_STRING = 2,	      /* the block is a string, its size that of the string */
	INPLACE_JEMALLOC = 4,	      /* only jemalloc has it; mallocx has flags as its second */
	INPLACE_FREES_ON_FAILURE = 8, /* a realloc that does */
};

struct inplace_row {
	const char *name;
	uint8_t group, op, call, pointer, size, count, flags;
};

extern const struct inplace_row inplace_rows[] __attribute__((visibility("hidden")));
extern const unsigned inplace_row_count __attribute__((visibility("hidden")));

#define INPLACE_DISPLACED_MAX 20 /* the last instruction may start in its last byte */
#define INPLACE_CODE_MAX 64
#define INPLACE_FIXES 5
#define INPLACE_SITES 256

/* Four bytes of the relocated code that depend on where it is: the distance from `end` to the
 * target. */
struct shm_fix {
	uint64_t target;
	uint8_t at, end;
};

struct shm_site {
	uint64_t entry;	  /* what a pointer to the function holds */
	uint64_t address; /* of the bytes to overwrite: behind what marks it as a target of jumps */
	uint64_t usable;  /* the function that tells the size of its blocks, 0 if there is none */
	uint64_t low, high; /* where its file is mapped: the stub must be near all of that */
	struct shm_fix fixes[INPLACE_FIXES];
	uint8_t row, protection, fix_count, code_size, displaced;
	uint8_t original[INPLACE_DISPLACED_MAX]; /* what must be there */
	uint8_t code[INPLACE_CODE_MAX];
};

/* Written by the collector, except the first three. */
struct shm_plan {
	uint64_t executable;	  /* an address in it */
	uint64_t libc;		  /* the same; 0: its calls are not wanted */
	_Atomic uint32_t request; /* raised by the recorder, before the program runs */
	_Atomic uint32_t done;	  /* a futex: what `request` was when it was answered */
	uint32_t site_count;
	char allocator[192];	/* what was found, in words; empty if nothing was */
	char warning[320];	/* what cannot be hooked, and why: one line; empty if all can be */
	char libc_warning[160]; /* the same of libc's calls */
	struct shm_site sites[INPLACE_SITES];
};
