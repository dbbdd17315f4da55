/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whose frame is it, by its name alone: the program's, the allocator's, a wrapper's around it, the
 * language library's, a runtime's?
 *
 * The rules are text, a line each: KIND WHERE PATTERN…, "library c++ std::*".  Those of
 * frame_kinds.txt are built in; a user's come before them (user_rules.h).  A '&' in a pattern
 * is a blank.  Rules are read once, by one thread, then by any. */
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* In the order in which a stack's frames are preferred: a later kind is chosen before an earlier
 * one, and of equal ones the innermost. */
enum frame_kind {
	FRAME_START,	 /* calls the program */
	FRAME_ALLOCATOR, /* gives the memory */
	FRAME_WRAPPER,	 /* around an allocator */
	FRAME_HIDDEN,	 /* by the user */
	FRAME_LIBRARY,	 /* of the language */
	FRAME_RUNTIME,	 /* an interpreter's, a collector's */
	FRAME_STANDARD,	 /* of the modules that come with a language, and run like the program's */
	FRAME_PROGRAM,	 /* none of these */
	FRAME_KINDS
};
extern const char *const frame_kind_names[FRAME_KINDS];

struct frame_rules;
/* The built-in ones. */
const struct frame_rules *frame_rules(void);
/* Reads a user's; NULL with err, whose offset is the line's. */
struct frame_rules *frame_rules_read(const char *text, struct err *err);
struct frame_rules *frame_rules_free(struct frame_rules *r);

/* What the rules say of a function, which is demangled; `raw` is what the linker knows, or "".
 * FRAME_KINDS: nothing. */
enum frame_kind frame_kind_of_function(const struct frame_rules *r, const char *name,
				       const char *raw);
/* The same of the source file, and of the file that its code is in. */
enum frame_kind frame_kind_of_source(const struct frame_rules *r, const char *path);
enum frame_kind frame_kind_of_module(const struct frame_rules *r, const char *path);

/* The part of a demangled name that says whose it is: without return type, parameters and what is
 * around a Rust type.  "std::vector<int>::push_back" of "void std::vector<int>::push_back(int&&)",
 * "core::clone::Clone>::clone" of "<T as core::clone::Clone>::clone". */
const char *frame_owner_name(const char *name, size_t *ret_size);
