/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Distinct code addresses of a recording and their names.
 *
 * A stack node is at one location; a location has one or more frames, innermost first (inlined ones
 * before the function that the code is in).  Names are looked up when they are first asked for, or
 * all at once by locations_resolve_all().  Any thread may call anything here but locations_free():
 * what is resolved is read without a lock. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "symbols/symbols.h"

struct buf;

struct location_frame {
	uint32_t function, raw_function, file; /* string ids; 0: not known */
	uint32_t line, column;		       /* 0: not known */
	uint32_t inlined; /* into the next one; as wide as these, so that no byte is by chance */
};

struct location {
	uint64_t address; /* as its ELF file counts; run-time address where there is no module */
	uint32_t module;  /* position in the model's table; 0: in none */
	uint32_t first_frame;
	uint32_t frame_count; /* 0: not resolved yet */
};

struct locations_options {
	const char *const *debug_paths; /* files, or folders that are searched */
	size_t debug_path_count;
	bool debuginfod; /* ask the servers of DEBUGINFOD_URLS */
	const struct cache_options
		*cache; /* where names are kept; NULL: nowhere.  Read by locations_new() only */
	model_progress progress;
	void *context;
};

/* `m` is borrowed and must be finished, or see locations_grow(); `o` may be NULL. */
struct locations *locations_new(const struct model *m, const struct locations_options *o);
/* After model_load() of a recording that grows, which is followed by one thread: the new nodes get
 * locations, and what was given out stays as it is.  False: there are new modules, too; then others
 * are to be made. */
bool locations_grow(struct locations *p);
struct locations *locations_free(struct locations *p);

/* The location of a stack node.  Location 0 is that of nodes that are not in the recording. */
uint32_t locations_of_node(const struct locations *p, uint32_t node);
uint32_t locations_count(const struct locations *p);
/* All numbers of frames, first_frame and on, are below; grows while names are looked up. */
uint32_t locations_frame_count(const struct locations *p);
/* Both resolve the location if need be; the second gives at least one frame, perhaps without a
 * name.
 */
const struct location *locations_at(struct locations *p, uint32_t location);
const struct location_frame *locations_frames(struct locations *p, uint32_t location,
					      unsigned *ret_count);
/* Are the servers of DEBUGINFOD_URLS asked for names? */
bool locations_ask_servers(const struct locations *p);
/* Who is told how far locations_resolve_all() is, instead of who was named at first. */
void locations_on_progress(struct locations *p, model_progress progress, void *context);
/* With progress; then the two above never wait. */
void locations_resolve_all(struct locations *p);

/* The function that a location without a name is in, as far as its module says where functions
 * begin. */
struct location_function {
	uint32_t first; /* of the locations in it; the location itself where nothing is known */
	uint32_t size;	/* of its code; UINT32_MAX: not known */
};
/* For each location; the caller frees it. */
struct location_function *locations_functions(struct locations *p);

/* "" for 0, and for a number that was never given out. */
const char *locations_string(const struct locations *p, uint32_t id);
/* All ids are below. */
uint32_t locations_string_count(const struct locations *p);
/* "" for no module. */
const char *locations_module_path(const struct locations *p, uint32_t module);
/* How a frame without a name is written, everywhere: "libx.so+0x12ab", the address being the one
 * that `addr2line -e libx.so 0x12ab` wants; "0x7f…" as in the running program where there is no
 * module. */
void frame_unnamed(const char *module_path, uint64_t address, struct buf *out);
void locations_unnamed(const struct locations *p, uint32_t module, uint64_t address,
		       struct buf *out);
/* The name of an intercepted call: "malloc", "operator new(unsigned long)"; and as the linker knows
 * it. */
const char *locations_call(const struct locations *p, unsigned call);
const char *locations_raw_call(unsigned call);
enum symbols_level locations_level(struct locations *p, uint32_t module);
/* Which files a module's names come from, and which were refused; borrowed. */
const struct symbols_found *locations_found(struct locations *p, uint32_t module);

/* What another folder finds out from all names and keeps with them (query/responsible.c): made by
 * the first who asks, while others wait; freed with the locations, by `release`. */
struct locations_derived {
	void (*release)(struct locations_derived *d);
};
struct locations_derived *locations_derived(struct locations *p,
					    struct locations_derived *(*make)(const struct model *m,
									      struct locations *p));
