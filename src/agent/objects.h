/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files that are loaded into the process, and the symbol tables in them.
 *
 * Files are read, never mapped: one that is cut while it is mapped would end the program.  A file
 * that is not what was loaded (its notes differ) is not believed. */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/text.h"

#define OBJECTS_MAX 1024u

struct object {
	char path[256]; /* "/proc/self/exe" for the program */
	bool main;
	uint64_t start; /* of its lowest page */
	uint64_t bias;
	uint64_t code_start, code_end; /* of all segments with code; a gap may hold another's */
	ElfW(Dyn) * dynamic;
	uint64_t notes, notes_size; /* the first PT_NOTE: address */
	char build_id[80];	    /* hexadecimal; "" if it has none */
};

struct objects {
	struct object *objects; /* mapped */
	size_t count, room_bytes;
};

/* An address to be named; sorted by address. */
struct object_name {
	uint64_t address;
	uint64_t span;	   /* size of the function that it was named after */
	uint32_t name;	   /* offset in the names, 0: none */
	uint32_t function; /* for the caller */
};

/* Around a fork: a walk over the files holds a lock of the loader's, which a child would inherit.
 */
void objects_before_fork(void);
void objects_after_fork(void);
/* Was anything loaded since *seen was set? */
bool objects_changed(unsigned long long *seen);
void objects_list(struct objects *ret);
void objects_release(struct objects *o);
/* The function of this name in the file's symbol table, loaded; NULL: none. */
void *objects_symbol(const struct object *o, const char *name);
void objects_sort(struct object_name *list, size_t count);
/* Names each address; the names' texts, each with a 0 behind it, go to `names`, whose first byte is
 * a 0. */
void objects_name(const struct objects *list, struct object_name *sorted, size_t count,
		  struct text *names);
