/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A loaded recording in a file: mapping it is all that opening the same recording again takes.
 *
 *	header | groups of rows (columns.h, row_group.h) | chains | nodes | sums by stack, summary |
 *tables
 *
 * The tables are the recording's own small chunks, to be taken by tables_add() again, and what
 * loading made of the events besides columns (threads, totals, loss).  So a new kind of chunk needs
 * nothing here.  Numbers and structs are as this build has them: the key of a file holds the
 * build's id, and a file of another build is never found.
 *
 * What is believed: the header and the tables have sums, all offsets and sizes are compared with
 * the file's, nodes and sums by stack are checked, and so are the rows of up to CACHE_CHECK_ROWS.
 * Larger columns are taken as they are: reading them all would take as long as the question they
 * are opened for.  The file is the user's own, in a folder that nobody else may write to, and one
 * that a crash of the system may have left half written is not used. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cache_dir.h"
#include "model/model.h"
#include "pairing/columns.h"

#define CACHE_MAGIC "MEMOIR\x1b\n"
#define CACHE_VERSION 2u
#define CACHE_CHECK_ROWS (4u << 20)
#define CACHE_SEALED 0x6465736c61655321ull

/* Which recording, in which state, read by which build. */
struct cache_key {
	uint8_t id[16];
	uint64_t size;
	int64_t mtime_ns;
	uint64_t build;
};

enum cache_section {
	CACHE_CHAINS,
	CACHE_FRAMES, /* of nodes, as the next two */
	CACHE_PARENTS,
	CACHE_FLAGS,
	CACHE_SUMS,
	CACHE_SUMMARY,
	CACHE_SUMMARY_OF, /* by node */
	CACHE_TABLES,
	CACHE_SECTIONS
};

struct cache_header {
	char magic[8];
	uint32_t version, size; /* of this header */
	struct cache_key key;
	uint64_t file_size;
	int64_t built_at; /* CLOCK_REALTIME, seconds */
	char boot[40];	  /* the kernel's boot id: not sealed and another one means not used */
	uint32_t rows, group_count;
	struct columns_group groups[COLUMNS_GROUPS]; /* of plain rows */
	struct columns_place packed;		     /* group_bits is 0: rows are plain */
	struct {
		uint64_t offset, size;
	} sections[CACHE_SECTIONS];
	uint64_t tables_sum; /* XXH3 of that section */
	uint64_t sum;	     /* XXH3 of everything above */
	uint64_t sealed;     /* CACHE_SEALED once the whole file is known to be on the disk */
};

/* Opens the recording from the cache: true, and the model is complete.  Otherwise the model is to
 * be loaded, and if the cache can take it afterwards, m->cache is set. */
bool cache_open(struct model *m, const struct cache_options *options);
/* Keeps a table's chunk for the cache. */
void cache_keep(struct cache *c, const struct chunk *chunk);
/* The file that is to become the cache's, for columns that have grown too large for memory. */
int cache_spill(void *cache);
/* Puts a finished model into the cache, if its recording is still what it was.  Nothing that goes
 * wrong here changes the model. */
void cache_store(struct model *m);
/* Ends m->cache; what was not stored is removed. */
void cache_release(struct model *m);

/* Files beside a cached recording: what is made of it later, and not to be made again.  `kind` is
 * the end of the file's name, ".verdicts"; the rest is the recording's, its state's and this
 * build's.  Nothing is kept of recordings that are not cached. */
struct scratch;
/* Is anything kept of it? */
bool cache_beside_may(const struct model *m);
/* The bytes, mapped as long as `file` is not released; NULL: they are not there, or not as they
 * were written. */
const void *cache_beside_map(const struct model *m, const char *kind, struct scratch *file,
			     size_t *ret_size);
/* In place of what was there. */
void cache_beside_put(const struct model *m, const char *kind, const void *bytes, size_t size);
void cache_beside_release(struct model *m);

/* Maps a cache's file, whose descriptor it takes; false if it is not to be used, and the model is
 * empty.  A key that is NULL is not compared.  For cache_open() and tests. */
bool cache_map(struct model *m, int fd, const struct cache_key *key);
