/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Addresses of dumps as locations in the code: which file, where in it, which functions and lines.
 *
 * Dumps of several runs share one struct heap_locations, and the same location has the same number
 * in all of them, wherever the loader had put the file.  Nothing is looked up before
 * heap_locations_resolve(); one thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strings.h"
#include "heap/dump.h"

struct cache_options; /* base/cache_dir.h */

#define HEAP_NO_MODULE UINT32_MAX

struct heap_location {
	uint32_t module;	   /* HEAP_NO_MODULE: in no file that is known */
	uint64_t address;	   /* as the file counts; else the address itself */
	uint64_t offset;	   /* as it was added: where in the file */
	uint64_t loaded;	   /* the address by what the dump says of the loader; 0: nothing */
	uint32_t given;		   /* names that the dump itself has, of texts; 0: none */
	size_t frame, frame_count; /* the innermost first; at least one once resolved */
};

/* One function that an address is in; those but the last are inlined into the next. */
struct heap_location_frame {
	uint32_t function; /* of texts: 0 if it is not known */
	uint32_t file;	   /* 0 if it is not known */
	uint32_t line;
	bool inlined;
};

/* Code that is mapped from a file: where in the file. */
struct heap_locations_code {
	uint64_t offset, size;
};

#define HEAP_CODE_MAX 8

struct heap_locations_module {
	const char *path; /* as the dump has it */
	/* Hexadecimal, as the dump has it; "": it does not say.  Once resolved, that of the file
	 * then. */
	const char *build_id;
	const char *name; /* once resolved: the last part of the path, and the build if need be */
	bool deleted;	  /* while it was loaded */
	struct heap_locations_code code[HEAP_CODE_MAX]; /* that addresses are in */
	size_t code_count;
	char *file;	/* the one that is read; NULL: none was found */
	bool allocator; /* it is jemalloc or another allocator's library */
};

struct heap_locations_options {
	const char *program;		/* the main program's file, or NULL: where the dump says */
	const char *const *debug_paths; /* files and folders with symbols */
	size_t debug_path_count;
	const char *sysroot;	     /* put before the dumps' paths, or NULL */
	const char *const *prefixes; /* the same, tried first; as jeprof's --lib_prefix */
	size_t prefix_count;
	const char *const *beside; /* folders with files of the same name: those of the dumps */
	size_t beside_count;
	const struct cache_options *cache; /* where names are kept; NULL: nowhere */
	bool debuginfod;
	/* Others that are resolved: what they know is taken over, and looked up no more. */
	const struct heap_locations *const *known;
	size_t known_count;
};

struct heap_locations {
	struct heap_locations_options options;
	struct strings texts;
	struct heap_locations_module *modules;
	size_t module_count, module_room;
	uint32_t main_module; /* the program's own, or HEAP_NO_MODULE */
	struct heap_location *locations;
	size_t count, room;
	struct heap_location_frame *frames;
	size_t frame_count, frame_room;
	char **warnings; /* once resolved: lines about files that look right and are not */
	size_t warning_count, warning_room;
	struct map index; /* locations by a hash of module and address, and of module paths */
};

void heap_locations_init(struct heap_locations *p, const struct heap_locations_options *options);
void heap_locations_release(struct heap_locations *p);
/* The number of an address of a dump; `is_return`: it is where a call goes on, which may be the
 * next line or function already. */
uint32_t heap_locations_add(struct heap_locations *p, const struct dump *d, uint64_t pc,
			    bool is_return);
/* The number of a location that is there; `offset` as it was added. */
bool heap_locations_find(const struct heap_locations *p, uint32_t module, uint64_t offset,
			 uint32_t *ret_location);
/* Looks up all that were added.  Symbols of a symbolized dump come first. */
void heap_locations_resolve(struct heap_locations *p);
/* The function that a location is in once all that is inlined there is taken away. */
static inline const struct heap_location_frame *
heap_location_outermost(const struct heap_locations *p, const struct heap_location *location)
{
	return &p->frames[location->frame + location->frame_count - 1];
}
