/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loading a recording: see model.h.
 *
 * Workers read chunks one after the other, then check, decompress and decode each on their own;
 * this thread takes them in the order of the file, fills tables, and merges and pairs the events.
 * The jobs between them are a ring, so memory is bounded however large the file is. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/scratch.h"
#include "base/xalloc.h"
#include "model/cache.h"
#include "model/model.h"
#include "model/stats.h"
#include "pairing/merge.h"
#include "wire/codec.h"
#include "wire/shm.h"

#define JOBS 4
#define WORKERS_MAX 4
#define SMALL_FILE (256u << 10) /* not worth a thread */
#define LARGE_FILE (4u << 20)	/* its columns are not worth anonymous memory */
#define PACK_EVENTS ((uint64_t)64 << 20)
#define POOL_ROWS (16u << 20) /* blocks that are alive, in anonymous memory at most */
#define SPILL_ROWS (1u << 20) /* what anonymous memory is good for, at most */

struct run {
	uint32_t ring, count;
};

struct job {
	enum { JOB_EMPTY, JOB_TAKEN, JOB_READY } state;
	enum reader_status status;
	struct err err;
	struct chunk chunk;
	struct event *events; /* of CHUNK_EVENTS, run after run */
	size_t event_count, event_room;
	struct run *runs;
	size_t run_count, run_room;
	uint64_t horizon;
};

struct loader {
	struct model *model;
	struct row_builder *builder; /* NULL: rows stay plain */
	struct columns pool;	     /* of the blocks that are alive, where there is a builder */
	struct pair pair;
	struct merge merge;
	struct job jobs[JOBS];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t next_read, next_use; /* counted over all jobs of one model_load() */
	bool stop;		      /* nothing more is to be read */
};

static bool malformed(struct job *j)
{
	err_at(&j->err, -EINVAL, j->chunk.offset, "a chunk's events are malformed");
	return false;
}

static bool decode_events(struct job *j)
{
	struct codec_decoder d;
	uint32_t ring, count;

	if (!codec_open(&d, j->chunk.payload, j->chunk.payload_size))
		return malformed(j);
	j->horizon = d.horizon;
	j->run_count = j->event_count = 0;
	if (j->event_room < d.event_count) {
		free(j->events);
		j->event_room = d.event_count;
		j->events = xreallocarray(NULL, j->event_room, sizeof(*j->events));
	}
	while (codec_next_run(&d, &ring, &count)) {
		if (ring >= SHM_MAX_RINGS || !codec_read(&d, j->events + j->event_count, count))
			return malformed(j);
		*xpush(j->runs, j->run_count, j->run_room) = (struct run){ ring, count };
		j->event_count += count;
	}
	return d.event_count || d.run_count ? malformed(j) : true;
}

/* What can be done without looking at any other chunk. */
static void prepare(struct job *j)
{
	if (j->status != READER_CHUNK)
		return;
	if (!chunk_unpack(&j->chunk, &j->err) ||
	    (j->chunk.head.type == CHUNK_EVENTS && !decode_events(j)))
		j->status = READER_DAMAGED;
}

static void lose(struct model *m, enum loss_kind kind, const struct err *err)
{
	m->loss.kind = kind;
	m->loss.err = *err;
}

/* Takes a prepared chunk into the model; false when that was the last. */
static bool model_use_chunk(struct loader *l, struct job *j)
{
	struct model *m = l->model;
	const struct event *events = j->events;

	switch (j->status) {
	case READER_END:
		return false;
	case READER_CUT:
		lose(m, LOSS_CUT, &j->err);
		return false;
	case READER_DAMAGED:
		lose(m, LOSS_DAMAGED, &j->err);
		return false;
	case READER_CHUNK:
		break;
	}
	if (j->chunk.head.type != CHUNK_EVENTS) {
		if (!tables_add(&m->tables, &j->chunk, &j->err)) {
			lose(m, LOSS_DAMAGED, &j->err);
			return false;
		}
		if (m->cache)
			cache_keep(m->cache, &j->chunk);
		m->chunk_count++;
		if (j->chunk.head.type == CHUNK_COUNTERS)
			l->pair.unsure = model_counters(m, "switched_o") != 0;
		return true;
	}
	for (size_t i = 0; i < j->run_count; i++) {
		merge_add(&l->merge, j->runs[i].ring, events, j->runs[i].count);
		events += j->runs[i].count;
	}
	merge_run(&l->merge, j->horizon);
	columns_write_behind(&m->allocations);
	columns_write_ahead(&m->allocations);
	m->chunk_count++;
	m->event_chunk_count++;
	if (l->pair.overflowed) {
		err_at(&j->err, -EFBIG, j->chunk.offset, "more than %u allocations", COLUMNS_MAX);
		lose(m, LOSS_DAMAGED, &j->err);
		return false;
	}
	return true;
}

static void *work(void *context)
{
	struct loader *l = context;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		struct job *j = &l->jobs[l->next_read % JOBS];

		if (j->state != JOB_EMPTY) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		j->state = JOB_TAKEN;
		l->next_read++;
		j->status = reader_next(&l->model->reader, &j->chunk, &j->err);
		if (j->status != READER_CHUNK)
			l->stop = true;
		pthread_mutex_unlock(&l->lock);
		prepare(j);
		pthread_mutex_lock(&l->lock);
		j->state = JOB_READY;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void tell_progress(const struct model *m, const struct model_options *o, const struct job *j)
{
	if (o->progress && j->status == READER_CHUNK)
		o->progress(o->context, j->chunk.offset + j->chunk.head.stored_size,
			    m->reader.size);
}

static void load_with(struct loader *l, const struct model_options *o, pthread_t *threads,
		      unsigned count)
{
	bool more = true;

	pthread_mutex_lock(&l->lock);
	while (more) {
		struct job *j = &l->jobs[l->next_use % JOBS];

		if (j->state != JOB_READY) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		pthread_mutex_unlock(&l->lock);
		more = model_use_chunk(l, j);
		tell_progress(l->model, o, j);
		pthread_mutex_lock(&l->lock);
		j->state = JOB_EMPTY;
		l->next_use++;
		if (!more)
			l->stop = true;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void load_alone(struct loader *l, const struct model_options *o)
{
	struct job *j = &l->jobs[0];

	do {
		j->status = reader_next(&l->model->reader, &j->chunk, &j->err);
		prepare(j);
		tell_progress(l->model, o, j);
	} while (model_use_chunk(l, j));
}

static unsigned worker_count(const struct model *m, unsigned wanted)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted != MODEL_WORKERS_AUTO)
		return wanted < WORKERS_MAX ? wanted : WORKERS_MAX;
	if (m->reader.size - m->reader.offset < SMALL_FILE)
		return 0;
	return cores <= 2 ? 1 : cores > WORKERS_MAX ? WORKERS_MAX : (unsigned)cores - 1;
}

static void take_totals(struct model *m)
{
	m->totals = m->recorded = m->loader->pair.totals;
	m->peak_is_whole = removed_add_totals(&m->tables, &m->totals);
}

/* Where many rows go that are not to be cached. */
static int spill_to_temporary(void *context)
{
	return scratch_open();
}

/* Plain rows are read faster, packed ones take a third of the memory: where plain ones might not
 * fit into it, or make the disk wait.  A file that was cut has no index; a byte of it may hold
 * several events. */
static bool worth_packing(const struct model *m)
{
	const char *limit = getenv("MEMOIR_PACK_EVENTS");
	uint64_t events = reader_events(&m->reader), most = PACK_EVENTS;

	if (limit && *limit)
		most = strtoull(limit, NULL, 10);
	return (events ? events : m->reader.size) >= most;
}

/* Rows in a group, as a power of two: few in tests, so that groups end everywhere. */
static unsigned group_bits(void)
{
	const char *text = getenv("MEMOIR_PACK_BITS");
	unsigned long bits = text ? strtoul(text, NULL, 10) : 0;

	return bits && bits < PACKED_BITS_MAX ? (unsigned)bits : PACKED_BITS_MAX;
}

/* They are packed while they come.  Who observes wants to find them where they are. */
static void pack_rows(struct model *m)
{
	struct loader *l = m->loader;
	struct columns *c = &m->allocations;
	int fd = -1;

	l->builder = row_builder_new(group_bits());
	l->pair.columns = &l->pool;
	l->pool.spill = spill_to_temporary;
	l->pool.spill_at = POOL_ROWS;
	pair_into(&l->pair, l->builder);
	if (c->spill && m->reader.size >= LARGE_FILE)
		fd = c->spill(c->spill_context);
	if (fd >= 0)
		row_builder_into(l->builder, fd, COLUMNS_ALIGN);
}

void model_load(struct model *m, const struct model_options *options)
{
	struct loader *l = m->loader;
	pthread_t threads[WORKERS_MAX];
	unsigned started = 0, wanted;

	if (!l || m->loss.kind == LOSS_DAMAGED)
		return;
	m->loss.kind = LOSS_NONE;
	reader_refresh(&m->reader);
	if (m->reader.size < m->reader.offset)
		m->reader.size = m->reader.offset; /* it shrank: there is nothing more */
	l->next_read = l->next_use = 0;
	l->stop = false;
	l->pair.observe = options->observe;
	l->pair.observe_displaced = options->observe_displaced;
	l->pair.observer = options->observer;
	if (!l->builder && !options->observe && !options->recycle && !m->allocations.count &&
	    worth_packing(m))
		pack_rows(m);
	if (options->recycle && !m->recycled) {
		pair_recycle(&l->pair);
		l->pair.map_calls = NULL;
		m->recycled = true;
	}
	for (unsigned i = 0; i < JOBS; i++)
		l->jobs[i].state = JOB_EMPTY;
	wanted = worker_count(m, options->workers);
	while (started < wanted && !pthread_create(&threads[started], NULL, work, l))
		started++;
	if (started)
		load_with(l, options, threads, started);
	else
		load_alone(l, options);
	take_totals(m);
}

static void release_loader(struct model *m)
{
	struct loader *l = m->loader;

	if (!l)
		return;
	for (unsigned i = 0; i < JOBS; i++) {
		chunk_release(&l->jobs[i].chunk);
		free(l->jobs[i].events);
		free(l->jobs[i].runs);
	}
	merge_release(&l->merge);
	pair_release(&l->pair);
	columns_release(&l->pool);
	row_builder_free(l->builder);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
	m->loader = NULL;
}

void model_finish(struct model *m)
{
	if (!m->loader)
		return;
	merge_finish(&m->loader->merge);
	take_totals(m);
	if (m->loader->builder)
		row_builder_finish(m->loader->builder, &m->allocations, &m->chains, &m->chain_count,
				   &m->chain_room);
	release_loader(m);
	if (m->recycled)
		return;
	if (!m->allocations.packed)
		chains_build(m);
	if (m->allocations.file && !m->allocations.packed)
		columns_trim(&m->allocations);
	if (m->cache) {
		cache_store(m);
		cache_release(m);
	}
}

static struct model *with_loader(struct model *m)
{
	struct loader *l = xcalloc(1, sizeof(*l));

	l->model = m;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	pair_init(&l->pair, &m->allocations, &m->tables.threads, &m->tables.markers);
	l->pair.map_calls = &m->tables.map_calls;
	merge_init(&l->merge, &l->pair);
	m->loader = l;
	return m;
}

static void choose_place(struct model *m)
{
	struct columns *c = &m->allocations;

	c->spill = m->cache ? cache_spill : spill_to_temporary;
	c->spill_context = m->cache;
	/* What will be in the cache anyway need not be copied there later. */
	c->spill_at = m->cache && m->reader.size >= LARGE_FILE ? 0 : SPILL_ROWS;
}

int model_open_cached(struct model **ret_model, const char *path,
		      const struct cache_options *options, struct err *err)
{
	struct model *m = xcalloc(1, sizeof(*m));
	int error = reader_open(&m->reader, path, err);

	if (error) {
		free(m);
		return error;
	}
	if (!options || !cache_open(m, options)) {
		with_loader(m);
		choose_place(m);
	}
	*ret_model = m;
	return 0;
}

int model_open(struct model **ret_model, const char *path, struct err *err)
{
	return model_open_cached(ret_model, path, NULL, err);
}

int model_open_memory(struct model **ret_model, const void *data, size_t size, struct err *err)
{
	struct model *m = xcalloc(1, sizeof(*m));
	int error = reader_open_memory(&m->reader, data, size, err);

	if (error) {
		free(m);
		return error;
	}
	*ret_model = with_loader(m);
	return 0;
}

void model_empty(struct model *m)
{
	stats_forget(m);
	chains_release(m);
	m->free_order = free_order_free(m->free_order);
	m->summary = summary_free(m->summary);
	m->maps = map_history_free(m->maps);
	columns_release(&m->allocations);
	tables_release(&m->tables);
}

struct model *model_free(struct model *m)
{
	if (!m)
		return NULL;
	release_loader(m);
	cache_release(m);
	cache_beside_release(m);
	model_empty(m);
	reader_release(&m->reader);
	free(m);
	return NULL;
}

int model_read(struct model **ret_model, const char *path, const struct model_options *options,
	       struct err *err)
{
	struct model *m;
	int error = model_open(&m, path, err);

	if (error)
		return error;
	model_load(m, options);
	if (!m->chunk_count && m->loss.kind != LOSS_NONE) {
		*err = m->loss.err;
		model_free(m);
		return -EINVAL;
	}
	model_finish(m);
	*ret_model = m;
	return 0;
}
