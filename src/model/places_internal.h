/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What places.c and places_cache.c share. */
#include <pthread.h>

#include "base/cache_dir.h"
#include "base/strings.h"
#include "model/places.h"

#define BLOCK_BITS 12
#define BLOCK_SIZE (1u << BLOCK_BITS)
#define BLOCKS (1u << 18)
#define FRAMES_MAX 256 /* of one place */

/* Where names are kept. */
struct places_cache {
	int dir;
	uint64_t limit, worth_ns;
	char name[CACHE_NAME_MAX];
	uint32_t loaded; /* places that came from the file */
};

struct places {
	const struct model *model;
	struct places_options options;
	struct symbols *symbols;
	struct symbols_module *modules;
	size_t module_count;
	char **calls;
	uint32_t *of_node;
	uint32_t node_count;
	struct place *rows;
	uint32_t count;
	pthread_mutex_t lock; /* around everything below, and `symbols` */
	struct strings strings;
	struct place_frame **blocks;
	uint32_t frame_count;
	struct places_cache *cache; /* NULL: none */
	uint64_t spent_ns;	    /* on looking for names */
};

/* Takes what is cached and still true: when `p` is complete, and nothing is resolved but place 0.
 * Sets p->cache if the results may be kept. */
void places_cache_load(struct places *p);
/* Keeps what has been resolved, if that took long enough; ends p->cache. */
void places_cache_store(struct places *p);

/* Takes the frames of a place, which is not resolved yet; with the lock held. */
void places_add_frames(struct places *p, struct place *place, const struct place_frame *frames,
		       uint32_t count);
