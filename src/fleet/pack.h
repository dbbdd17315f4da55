/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Recordings and heap profiles as parcels.  One thread at a time. */
#include "fleet/parcel.h"
#include "fleet/settings.h"
#include "heap/profile.h"
#include "jemalloc/stats.h"
#include "query/measure.h"
#include "query/view.h"

/* What goes into `recordings`. */
struct pack_facts {
	const char *kind; /* "recording", "heap", "statistics" */
	const char *id, *service, *host, *build, *release, *command, *file;
	const struct fleet_settings *settings; /* labels */
	uint64_t started, ended;	       /* seconds since 1970 */
	uint32_t pid;
	uint64_t allocated_bytes, allocated_count, leaked_bytes, leaked_count;
	uint64_t peak_bytes, peak_count; /* of a heap profile: of those before it */
};
void pack_facts(struct parcel *p, const struct pack_facts *facts);

/* A frame of a stack, innermost first. */
struct pack_frame {
	const char *function, *file, *module;
	uint32_t line;
	uint64_t address;
	unsigned kind;
};

struct pack_stack {
	const char *call, *responsible;
	const struct pack_frame *frames;
	size_t count;
	uint32_t depth;
};
struct pack_hash {
	uint64_t low, high;
};
/* Adds a row, and says what names it. */
struct pack_hash pack_stack(struct parcel_batch *b, const struct pack_stack *s);

/* What a stack did with one class of sizes in one bucket. */
enum pack_sum {
	PACK_ALLOCATED,
	PACK_FREED,
	PACK_LIVE,
	PACK_LEAKED,
	PACK_PEAK,
	PACK_TEMPORARY,
	PACK_SUMS
};

struct pack_cell {
	uint32_t stack; /* position in `stacks` */
	uint32_t bucket;
	uint8_t size_class;
	struct weight sums[PACK_SUMS];
	double live_variance;
};
#define PACK_CLASS_UNKNOWN 255 /* its sizes are not known */

/* `samples`, `curves` and `totals` of cells, whose order changes.  Buckets count from 1970 in
 * steps. */
void pack_cells(struct parcel *p, struct pack_cell *cells, size_t count,
		const struct pack_hash *stacks, uint32_t step);
/* How many bits a size has. */
unsigned pack_size_class(uint64_t size);

/* A finished profile as of facts->ended.  `since`: the first bucket that it speaks for, when there
 * are several of a recording: of these only what is alive counts, since the same blocks are in the
 * next one, too.  0: it is the only one. */
void pack_heap(struct parcel *p, const struct profile *profile, const struct pack_facts *facts,
	       uint32_t since, uint32_t step);
/* Figures of one snapshot, behind those of the others: `pack_facts` comes first. */
void pack_statistics(struct parcel *p, const struct stats *s, uint64_t second);

/* What a recording with this id is called there. */
uint64_t pack_number(const uint8_t id[16]);
/* A whole recording, all of whose names are looked up. */
void pack_recording(struct parcel *p, const struct view *v, const char *file,
		    const struct fleet_settings *s, uint32_t step);
