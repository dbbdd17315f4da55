/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A loaded recording: what other folders ask.
 *
 *	model_open();  model_load() once, or again and again while the file grows;  model_finish();
 *
 * Knows no output.  What is lost is said in `loss`, and everything that came before it is there. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/chains.h"
#include "model/free_order.h"
#include "model/map_history.h"
#include "model/summary.h"
#include "model/tables.h"
#include "pairing/columns.h"
#include "pairing/pair.h"
#include "recording/reader.h"

struct buf;

enum loss_kind {
	LOSS_NONE,
	LOSS_CUT,     /* the file just stops: its writer was killed, or is still at it */
	LOSS_DAMAGED, /* something that is there is not what was written */
};

struct loss {
	enum loss_kind kind;
	struct err err;
};

/* A recording that was made of a cut or damaged one is whole itself; these INFO keys say what was
 * lost on the way. */
#define INFO_LOSS_KIND "loss_kind"
#define INFO_LOSS_OFFSET "loss_offset"
#define INFO_LOSS_REASON "loss_reason"
#define LOSS_TEXT_CUT "cut"
#define LOSS_TEXT_DAMAGED "damaged"

struct model {
	struct reader reader;
	struct tables tables;
	struct columns allocations;
	struct chain *chains; /* filled by model_finish(), as the columns chain and position are */
	uint32_t chain_count, chain_room;
	uint64_t chains_offset; /* in the columns' file; 0: not there */
	struct totals totals;	/* of everything, what was removed included */
	struct totals recorded; /* of the events that are there */
	bool peak_is_whole;	/* totals.peak_* is of everything, not of the events */
	bool recycled;		/* model_options.recycle: the columns have what is alive only */
	struct loss loss;
	uint64_t chunk_count, event_chunk_count;
	struct loader *loader; /* between model_open() and model_finish(), if it is to be loaded */
	struct cache *cache;   /* the same, if it is to be cached: cache.h */
	/* It is not cached, since it takes more than all that is cached may; 0: it is no
	 * question. */
	uint64_t cache_needs, cache_limit;
	struct cache_beside *beside;		 /* NULL: nothing is kept of it */
	struct derived *derived;		 /* stats.h; NULL: to be computed when asked for */
	_Atomic(struct free_order *) free_order; /* see model_free_order() */
	_Atomic(struct summary *) summary;	 /* see model_summary() */
	/* Of this recording: another one's does not wait for it. */
	pthread_mutex_t building_summary, building_free_order;
	_Atomic(struct map_history *) maps; /* see model_maps() */
};

typedef void (*model_progress)(void *context, uint64_t done, uint64_t total);

struct model_options {
	unsigned
		workers; /* threads beside this one; MODEL_WORKERS_AUTO: as the machine has cores */
	model_progress progress; /* may be NULL; called from the calling thread */
	void *context;
	/* May be NULL: of every event that is loaded, model_finish()'s too.  There are none when
	 * the recording comes from the cache. */
	pair_observer observe;
	pair_displaced_observer observe_displaced;
	void *observer;
	/* For who only observes, and follows a recording for hours: rows of blocks that are gone
	 * are used again, so that memory is bounded by what is alive.  Said with the first load,
	 * and for good; nothing that needs rows in order of time, or calls that mapped memory, may
	 * be asked then. */
	bool recycle;
};
#define MODEL_WORKERS_AUTO UINT32_MAX

/* Opens and checks the header: 0 or -errno. */
int model_open(struct model **ret_model, const char *path, struct err *err);
/* The same through the cache (model/cache.h): if it is there, nothing is left to load, and
 * model_load() and model_finish() do nothing.  Otherwise model_finish() puts it there, unless it is
 * still being written.  NULL: no cache. */
struct cache_options;
int model_open_cached(struct model **ret_model, const char *path,
		      const struct cache_options *options, struct err *err);
/* The same on bytes that stay the caller's. */
int model_open_memory(struct model **ret_model, const void *data, size_t size, struct err *err);
/* Takes every whole chunk that is there.  Events that may still have to be preceded by others wait.
 */
void model_load(struct model *m, const struct model_options *options);
/* No more will come: takes the events that waited, and frees what only loading needs. */
void model_finish(struct model *m);
/* All three, of a file that is whole: 0, or -errno with err, also where none of it can be read. */
int model_read(struct model **ret_model, const char *path, const struct model_options *options,
	       struct err *err);
struct model *model_free(struct model *m);
/* Gives up everything but the reader. */
void model_empty(struct model *m);

/* What is missing: of this file or, where it is whole, of the one that it was made of. */
struct loss model_loss(const struct model *m);
/* A text from the recording's head, or NULL. */
const char *model_info(const struct model *m, const char *key);
/* How long it is: a command line holds NULs.  0 if there is none. */
size_t model_info_size(const struct model *m, const char *key);
/* The same as a number, or `otherwise`. */
uint64_t model_info_number(const struct model *m, const char *key, uint64_t otherwise);
/* The sum of all counters whose name starts with `prefix`. */
uint64_t model_counters(const struct model *m, const char *prefix);

/* What a tick of this recording is. */
struct model_clock {
	uint64_t start, end; /* stamps of time zero, and of the last thing that is known */
	double ns_per_tick;
};
struct model_clock model_clock(const struct model *m);
/* Nanoseconds from the start of the program to a stamp. */
uint64_t model_ns(const struct model *m, uint64_t stamp);
uint64_t model_runtime_ns(const struct model *m);
/* CLOCK_REALTIME at the start; 0 if not known. */
uint64_t model_start_ns(const struct model *m);

/* The bytes of an embedded file, by build id, or by path where there is none; -ENOENT, or what
 * reading it gave. */
int model_file(const struct model *m, const uint8_t *build_id, size_t build_id_size,
	       const char *path, struct buf *out, struct err *err);
/* The same for a row of the table. */
int model_file_content(const struct model *m, const struct embedded_file *f, struct buf *out,
		       struct err *err);
/* Is it there, whole?  One beside the recording may be gone. */
bool model_has_file(const struct model *m, const struct embedded_file *f);
