/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Addresses to functions, files and lines: ELF and DWARF through elfutils.
 *
 * A module is looked for on disk (only a file with the recorded build id is used), then among what
 * the caller has embedded; its debug information in the file itself, then by build id and debug
 * link.  Nothing is opened before it is asked for, no other program is run, no network is used.
 * One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One line of a stack.  An address that lies in inlined code has several, innermost first; the last
 * is the function that the code is really in. */
struct symbol_frame {
	char *function;	    /* demangled; NULL: not known */
	char *raw_function; /* as the linker knows it; the same for C */
	char *file;	    /* NULL: not known */
	uint32_t line, column;
	bool inlined; /* into the next one */
};

struct symbol {
	struct symbol_frame *frames;
	unsigned count; /* at least 1 */
};

/* How much is known of a module. */
enum symbols_level { SYMBOLS_NONE, SYMBOLS_EXPORTED, SYMBOLS_NAMES, SYMBOLS_LINES };

struct symbols_module {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
};

/* Gives the bytes of an embedded file; false if there is none. */
typedef bool (*symbols_embedded)(void *context, const struct symbols_module *module,
				 struct buf *out);

/* `modules` are borrowed and are named by position. */
struct symbols *symbols_new(const struct symbols_module *modules, size_t count,
			    symbols_embedded embedded, void *context);
struct symbols *symbols_free(struct symbols *s);
/* Opens what has to be opened and closes it again, so that many modules may be asked for. */
enum symbols_level symbols_level(struct symbols *s, size_t module);
/* Looks up an address as the ELF file counts them; borrowed, and the same one every time. */
const struct symbol *symbols_resolve(struct symbols *s, size_t module, uint64_t address);

/* A name as its programmer wrote it: C++ and Rust demangled, others copied. */
char *demangle(const char *name);
