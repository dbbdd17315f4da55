/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the tables of a cached recording consist of; cache_write.c writes them, cache_read.c reads.
 *
 * struct cache_fixed, then records: a head, its bytes, and zeros up to a multiple of eight. */
#include <stdint.h>

#include "base/buf_type.h"
#include "model/cache.h"
#include "model/stats.h"

struct cache_fixed {
	struct totals totals, recorded;
	struct stack_counts counts;
	uint64_t chunk_count, event_chunk_count;
	uint64_t reader_offset, reader_sequence, reader_index_offset, reader_size;
	uint32_t nodes_known;
	uint8_t ended, trailer;
	uint8_t loss_kind;
	uint8_t peak_is_whole;
	struct err loss;
};

enum cache_record_kind {
	CACHE_CHUNK = 1, /* of type `type`, from `offset`; `beyond` bytes more were in it */
	CACHE_THREADS,	 /* struct thread, in their order */
	CACHE_SLACKS,	 /* struct cache_slack */
	CACHE_MARKER,	 /* its name; `offset` is its stamp, `type` its value */
	CACHE_MAP_CALLS, /* struct map_call */
};

struct cache_record {
	uint32_t kind, type;
	uint64_t size, offset, beyond;
};

struct cache_slack {
	uint32_t row, slack;
};

#define CACHE_TABLES_MAX ((uint64_t)1 << 30)

/* Where files beside a model's are, as long as it lives. */
struct cache_beside {
	struct cache_key key;
	char *path; /* of the folder */
	uint64_t limit, least;
};

/* A model that is being loaded and will be stored. */
struct cache {
	struct cache_key key;
	char *path;  /* of the folder */
	int dir, fd; /* -1 before they were needed */
	uint64_t limit, least;
	char name[CACHE_NAME_MAX], temporary[CACHE_NAME_MAX];
	struct buf chunks; /* records */
};

/* Writes everything into the temporary file: 0 or -errno. */
int cache_write(struct model *m);
/* The kernel's boot id, or an empty text. */
void cache_boot_id(char *ret_text, size_t room);
/* Different for every build of this program. */
uint64_t cache_build(void);
uint64_t cache_header_sum(const struct cache_header *h);
uint64_t cache_tables_sum(const void *tables, size_t size);
