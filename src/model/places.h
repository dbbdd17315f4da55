/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Distinct code addresses of a recording and their names.
 *
 * A stack node is at one place; a place has one or more frames, innermost first (inlined ones
 * before the function that the code is in).  Names are looked up when they are first asked for, or
 * all at once by places_resolve_all().  Any thread may call anything here but places_free(): what
 * is resolved is read without a lock. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "symbols/symbols.h"

struct place_frame {
	uint32_t function, raw_function, file; /* string ids; 0: not known */
	uint32_t line, column;		       /* 0: not known */
	bool inlined;			       /* into the next one */
};

struct place {
	uint64_t address; /* as its ELF file counts; run-time address where there is no module */
	uint32_t module;  /* position in the model's table; 0: in none */
	uint32_t first_frame;
	uint32_t frame_count; /* 0: not resolved yet */
};

struct places_options {
	const char *const *debug_paths; /* files, or folders that are searched */
	size_t debug_path_count;
	bool debuginfod; /* ask the servers of DEBUGINFOD_URLS */
	const struct cache_options
		*cache; /* where names are kept; NULL: nowhere.  Read by places_new() only */
	model_progress progress;
	void *context;
};

/* `m` is borrowed and must be finished; `o` may be NULL. */
struct places *places_new(const struct model *m, const struct places_options *o);
struct places *places_free(struct places *p);

/* The place of a stack node.  Place 0 is that of nodes that are not in the recording. */
uint32_t places_of_node(const struct places *p, uint32_t node);
uint32_t places_count(const struct places *p);
/* Both resolve the place if need be; the second gives at least one frame, perhaps without a name.
 */
const struct place *places_at(struct places *p, uint32_t place);
const struct place_frame *places_frames(struct places *p, uint32_t place, unsigned *ret_count);
/* With progress; then the two above never wait. */
void places_resolve_all(struct places *p);

/* "" for 0, and for a number that was never given out. */
const char *places_string(const struct places *p, uint32_t id);
/* All ids are below. */
uint32_t places_string_count(const struct places *p);
/* "" for no module. */
const char *places_module_path(const struct places *p, uint32_t module);
/* How a frame without a name is written, everywhere: "libx.so+0x12ab", the address being the one
 * that `addr2line -e libx.so 0x12ab` wants; "0x7f…" as in the running program where there is no
 * module. */
void frame_unnamed(const char *module_path, uint64_t address, struct buf *out);
void places_unnamed(const struct places *p, uint32_t module, uint64_t address, struct buf *out);
/* The name of an intercepted call: "malloc", "operator new(unsigned long)"; and as the linker knows
 * it. */
const char *places_call(const struct places *p, unsigned call);
const char *places_raw_call(unsigned call);
enum symbols_level places_level(struct places *p, uint32_t module);
/* Which files a module's names come from, and which were refused; borrowed. */
const struct symbols_found *places_found(struct places *p, uint32_t module);
