/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Writes pprof's profile.proto: blocks and bytes, allocated and in use, a sample for each stack.
 *
 * A caller writes the head, samples, then the locations that samples named, then mappings, and
 * ends with the strings: readers take the fields in any order.  Locations and functions count from
 * 1 without a gap, which Parca asks for.  One thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf_type.h"
#include "base/map.h"
#include "base/strings.h"

struct sink;

struct pprof {
	struct sink *out;
	bool ever; /* samples have amounts of everything ever allocated too */
	struct strings strings;
	uint32_t thread_key;
	struct map functions; /* the caller's keys to numbers */
	uint32_t function_count;
	uint32_t *numbers;   /* of the caller's locations; 0: no sample has named it */
	uint32_t *locations; /* the caller's, by number - 1 */
	uint32_t location_count;
	struct buf message, stack, lines;
};

struct pprof_head {
	uint64_t rate; /* bytes between two samples */
	const char *default_type;
	uint64_t time_ns, duration_ns;
	const char *comment; /* or NULL */
};

struct pprof_function {
	uint64_t key;		       /* 0: one of its own */
	const char *name, *raw, *file; /* NULL or "": not known */
};

struct pprof_mapping {
	uint32_t number;
	uint64_t start, end;
	const char *path, *build_id;
	bool functions, lines;
};

/* The caller numbers its locations below `location_count`. */
void pprof_begin(struct pprof *p, struct sink *out, size_t location_count, bool ever,
		 const struct pprof_head *head);
/* A frame of the sample that comes next, the innermost first. */
void pprof_frame(struct pprof *p, size_t location);
/* The number of a text, for pprof_sample(). */
uint32_t pprof_string(struct pprof *p, const char *text);
/* The sample of those frames: blocks and bytes ever allocated (if p->ever), then in use; `thread`
 * is the number of its name, 0 for none. */
void pprof_sample(struct pprof *p, const int64_t values[4], uint32_t thread);
/* A function of the location that comes next, the innermost first. */
void pprof_line(struct pprof *p, const struct pprof_function *f, uint64_t line, uint64_t column);
/* The location of those lines, one of p->locations; `mapping` is 0 for none. */
void pprof_location(struct pprof *p, size_t location, uint32_t mapping, uint64_t address);
/* The first that is written is taken for the program. */
void pprof_mapping(struct pprof *p, const struct pprof_mapping *m);
/* Writes the strings, and releases all but the sink. */
void pprof_end(struct pprof *p);
