/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Addresses to functions, files and lines: ELF and DWARF through elfutils.
 *
 * A module is looked for at its recorded path (only a file with the recorded build id is used),
 * among what the user named, among what the caller has embedded; its debug information in the file
 * itself, among what the user named, by build id, by debug link, in .gnu_debugdata, and on
 * debuginfod servers if those are wanted.  Nothing is opened before it is asked for, no other
 * program is run, and no network is used unless asked for.  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

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

/* A file that looked right and was not used, and why. */
struct symbols_refused {
	char *path, *why;
};

/* What was found for a module. */
struct symbols_found {
	enum symbols_level level;
	char *binary;	/* the file that is used; NULL: none, or from the recording */
	bool embedded;	/* from the recording */
	char *debug;	/* a separate file with debug information; NULL: none */
	char *alt;	/* the file that its debug information shares with others' */
	bool mini;	/* names came from .gnu_debugdata */
	bool server;	/* `debug` came from a debuginfod server */
	uint64_t stamp; /* a sum over the files' paths, sizes and times: equal means the same */
	struct symbols_refused *refused;
	size_t refused_count, refused_room;
};

/* Gives the bytes of an embedded file; false if there is none.  From any thread. */
typedef bool (*symbols_embedded)(void *context, const struct symbols_module *module,
				 struct buf *out);

struct symbols_options {
	symbols_embedded embedded; /* may be NULL */
	void *context;
	const char *const *debug_paths; /* borrowed; files, or folders that are searched */
	size_t debug_path_count;
	bool debuginfod; /* ask the servers of DEBUGINFOD_URLS */
};

/* `modules` are borrowed and are named by position; `o` may be NULL. */
struct symbols *symbols_new(const struct symbols_module *modules, size_t count,
			    const struct symbols_options *o);
struct symbols *symbols_free(struct symbols *s);
/* Looks for the files, without reading more of them than their heads; borrowed.  An unknown module
 * has found nothing. */
const struct symbols_found *symbols_found(struct symbols *s, size_t module);
enum symbols_level symbols_level(struct symbols *s, size_t module);
/* The stamp of a module that was looked for before, else 0. */
uint64_t symbols_stamp(struct symbols *s, size_t module);
/* Looks up an address as the ELF file counts them. */
void symbols_resolve(struct symbols *s, size_t module, uint64_t address, struct symbol *ret_symbol);
void symbol_release(struct symbol *symbol);

/* A function's code, by the symbol table. */
struct symbols_function {
	uint64_t start, end;
	char *name; /* demangled; the caller frees it */
};

/* The function that an address is in; false if the symbol table has none. */
bool symbols_function(struct symbols *s, size_t module, uint64_t address,
		      struct symbols_function *ret);

/* Where the functions of a module begin, names or not (symbols/starts.h); the caller releases it.
 */
struct starts;
void symbols_starts(struct symbols *s, size_t module, struct starts *ret);

struct symbols_steps {
	uint64_t *rows;
	size_t count, room;
};

/* Adds the addresses in [start, end), all of one function, at which a line of the source begins. */
void symbols_steps(struct symbols *s, size_t module, uint64_t start, uint64_t end,
		   struct symbols_steps *steps);
/* Frees what was read of a module, if nobody is resolving in it; it is read again if need be. */
void symbols_close(struct symbols *s, size_t module);
/* Why debuginfod servers cannot be asked, in one line; NULL: they can. */
const char *symbols_debuginfod_problem(void);

/* A name as its programmer wrote it: C++ and Rust demangled, others copied.  Whatever the name is,
 * it takes little time and gives at most DEMANGLED_MAX bytes. */
#define DEMANGLED_MAX 65536
char *demangle(const char *name);
