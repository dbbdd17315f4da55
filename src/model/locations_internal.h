/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What locations.c and locations_cache.c share. */
#include <pthread.h>

#include "base/cache_dir.h"
#include "base/strings.h"
#include "model/locations.h"

#define BLOCK_BITS 12
#define BLOCK_SIZE (1u << BLOCK_BITS)
#define BLOCKS (1u << 18)
#define FRAMES_MAX 256 /* of one location */

/* Where names are kept. */
struct locations_cache {
	int dir;
	uint64_t limit, worth_ns;
	char name[CACHE_NAME_MAX];
	uint32_t loaded; /* locations that came from the file */
};

struct locations {
	const struct model *model;
	struct locations_options options;
	struct symbols *symbols;
	struct symbols_module *modules;
	size_t module_count;
	char **calls;
	uint32_t *of_node;
	uint32_t node_count, known_nodes;
	struct location *rows;
	uint32_t count;
	size_t room;
	pthread_mutex_t lock; /* around everything below, and `symbols` */
	struct strings strings;
	struct location_frame **blocks;
	uint32_t frame_count;
	struct locations_cache *cache;	   /* NULL: none */
	uint64_t spent_ns;		   /* on looking for names */
	pthread_mutex_t deriving;	   /* around the next; taken before `lock` */
	struct locations_derived *derived; /* NULL: nobody has asked */
};

/* Takes what is cached and still true: when `p` is complete, and nothing is resolved but location
 * 0. Sets p->cache if the results may be kept. */
void locations_cache_load(struct locations *p);
/* Keeps what has been resolved, if that took long enough; ends p->cache. */
void locations_cache_store(struct locations *p);

/* Takes the frames of a location, which is not resolved yet; with the lock held. */
void locations_add_frames(struct locations *p, struct location *location,
			  const struct location_frame *frames, uint32_t count);
/* The same of names that are in a file: their texts by the numbers that lines have. */
void locations_add_lines(struct locations *p, struct location *location,
			 const struct symbols_line *lines, uint32_t count,
			 const char *const *texts);
