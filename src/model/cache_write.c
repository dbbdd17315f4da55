/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A finished model into its file.  See cache.h and cache_format.h. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "model/cache_format.h"
#include "wire/varint.h"

static void add_record(struct buf *b, struct cache_record head, const void *bytes)
{
	static const char zeros[8];

	buf_add(b, &head, sizeof(head));
	buf_add(b, bytes, head.size);
	buf_add(b, zeros, (size_t)(0 - head.size) & 7);
}

/* Chunks that need not be kept: what became of them is stored, or made again from it. */
static bool is_stored_otherwise(unsigned type)
{
	switch (type) {
	case CHUNK_EVENTS:
	case CHUNK_NODES:
	case CHUNK_THREADS:
	case CHUNK_COUNTERS:
	case CHUNK_STATISTICS:
	case CHUNK_END:
	case CHUNK_INDEX:
		return true;
	default:
		return false;
	}
}

void cache_keep(struct cache *c, const struct chunk *chunk)
{
	struct cache_record head = { .kind = CACHE_CHUNK,
				     .type = chunk->head.type,
				     .offset = chunk->offset };

	if (is_stored_otherwise(chunk->head.type))
		return;
	/* Of an embedded file only what stands before its bytes. */
	head.size = tables_head_size(chunk);
	head.beyond = chunk->payload_size - head.size;
	add_record(&c->chunks, head, chunk->payload);
}

/* The collector repeats its counters all the time; only the last of each counts. */
static void add_counters(struct buf *b, const struct tables *t)
{
	struct cache_record head = { .kind = CACHE_CHUNK, .type = CHUNK_COUNTERS };
	auto_buf struct buf payload = { 0 };

	for (size_t i = 0; i < t->counter_count; i++) {
		uint8_t number[VARINT_MAX];
		size_t size = strlen(t->counters[i].name);

		buf_add(&payload, number, (size_t)(varint_put(number, size) - number));
		buf_add(&payload, t->counters[i].name, size);
		buf_add(&payload, number,
			(size_t)(varint_put(number, t->counters[i].value) - number));
	}
	head.size = payload.size;
	if (payload.size)
		add_record(b, head, payload.data);
}

/* Nor does what is said of removed allocations before the last time. */
static void add_removed(struct buf *b, const struct removed *r)
{
	struct cache_record head = { .kind = CACHE_CHUNK, .type = CHUNK_STATISTICS };
	auto_buf struct buf payload = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		buf_reserve(&payload, STATISTICS_ROW_MAX);
		payload.size = (size_t)(statistics_put((uint8_t *)payload.data + payload.size,
						       &r->rows[i]) -
					(uint8_t *)payload.data);
	}
	head.size = payload.size;
	if (payload.size)
		add_record(b, head, payload.data);
}

static void add_markers(struct buf *b, const struct markers *m)
{
	for (size_t i = 0; i < m->count; i++)
		add_record(b,
			   (struct cache_record){ .kind = CACHE_MARKER,
						  .type = m->rows[i].value,
						  .offset = m->rows[i].stamp,
						  .size = strlen(m->rows[i].name) },
			   m->rows[i].name);
}

static void add_slacks(struct buf *b, const struct columns *c)
{
	struct cache_record head = { .kind = CACHE_SLACKS };
	auto_buf struct buf rows = { 0 };

	for (size_t i = 0; i < c->large_slacks.room; i++) {
		const struct map_entry *e = &c->large_slacks.entries[i];
		struct cache_slack s = { (uint32_t)e->key, (uint32_t)(e->value - 1) };

		if (e->value)
			buf_add(&rows, &s, sizeof(s));
	}
	head.size = rows.size;
	if (rows.size)
		add_record(b, head, rows.data);
}

static void put_tables(struct buf *b, const struct model *m)
{
	const struct reader *r = &m->reader;
	const struct threads *threads = &m->tables.threads;
	struct cache_fixed fixed;

	memset(&fixed, 0, sizeof(fixed)); /* no byte of it is by chance */
	fixed.totals = m->totals;
	fixed.recorded = m->recorded;
	fixed.peak_is_whole = m->peak_is_whole;
	fixed.counts = m->derived->counts;
	fixed.chunk_count = m->chunk_count;
	fixed.event_chunk_count = m->event_chunk_count;
	fixed.reader_offset = r->offset;
	fixed.reader_sequence = r->sequence;
	fixed.reader_index_offset = r->index_offset;
	fixed.reader_size = r->size;
	fixed.nodes_known = m->tables.nodes.known;
	fixed.ended = r->ended;
	fixed.trailer = r->trailer;
	fixed.loss_kind = (uint8_t)m->loss.kind;
	fixed.loss = m->loss.err;
	buf_add(b, &fixed, sizeof(fixed));
	if (threads->count)
		add_record(b,
			   (struct cache_record){ .kind = CACHE_THREADS,
						  .size = threads->count * sizeof(*threads->rows) },
			   threads->rows);
	add_slacks(b, &m->allocations);
	add_markers(b, &m->tables.markers);
	if (m->tables.map_calls.count)
		add_record(b,
			   (struct cache_record){ .kind = CACHE_MAP_CALLS,
						  .size = m->tables.map_calls.count *
							  sizeof(*m->tables.map_calls.rows) },
			   m->tables.map_calls.rows);
	add_counters(b, &m->tables);
	add_removed(b, &m->tables.removed);
	buf_add(b, m->cache->chunks.data, m->cache->chunks.size);
}

struct writing {
	struct cache_header header;
	struct columns *columns;
	int fd, error;
};

static void put_section(struct writing *w, enum cache_section section, const void *bytes,
			uint64_t size)
{
	uint64_t offset = w->columns->file->end;

	if (w->error || !size)
		return;
	w->error = columns_reserve(w->columns, size);
	if (!w->error)
		w->error = write_at(w->fd, bytes, size, offset);
	w->header.sections[section].offset = offset;
	w->header.sections[section].size = size;
}

static void put_groups(struct writing *w)
{
	const struct columns_packed *p = w->columns->packed;
	struct columns_place *place = &w->header.packed;

	place->offset = COLUMNS_ALIGN;
	place->used = p->used;
	place->table_offset = w->columns->file->end;
	place->group_count = p->groups.count;
	place->group_bits = p->groups.bits;
	if (p->groups.count)
		w->error = columns_reserve(w->columns, p->groups.count * sizeof(*p->groups.groups));
	if (p->groups.count && !w->error)
		w->error =
			write_at(w->fd, p->groups.groups,
				 p->groups.count * sizeof(*p->groups.groups), place->table_offset);
}

static void put_sections(struct writing *w, const struct model *m)
{
	const struct nodes *n = &m->tables.nodes;
	const struct summary *summary = model_summary(m);
	auto_buf struct buf tables = { 0 };

	if (m->allocations.packed)
		put_groups(w);
	if (m->chains_offset) {
		w->header.sections[CACHE_CHAINS].offset = m->chains_offset;
		w->header.sections[CACHE_CHAINS].size = m->chain_count * sizeof(*m->chains);
	} else {
		put_section(w, CACHE_CHAINS, m->chains, m->chain_count * sizeof(*m->chains));
	}
	put_section(w, CACHE_FRAMES, n->frame, n->count * sizeof(*n->frame));
	put_section(w, CACHE_PARENTS, n->parent, n->count * sizeof(*n->parent));
	put_section(w, CACHE_FLAGS, n->flags, n->count * sizeof(*n->flags));
	put_section(w, CACHE_SUMS, m->derived->sums.rows,
		    m->derived->sums.count * sizeof(*m->derived->sums.rows));
	put_section(w, CACHE_SUMMARY, summary->rows, summary->count * sizeof(*summary->rows));
	put_section(w, CACHE_SUMMARY_OF, summary->row_of,
		    summary->node_count * sizeof(*summary->row_of));
	put_tables(&tables, m);
	put_section(w, CACHE_TABLES, tables.data, tables.size);
	if (tables.size > CACHE_TABLES_MAX)
		w->error = -EFBIG;
	w->header.tables_sum = cache_tables_sum(tables.data, tables.size);
}

static void put_header(struct writing *w, const struct model *m)
{
	struct cache_header *h = &w->header;
	const struct columns_file *f = w->columns->file;

	memcpy(h->magic, CACHE_MAGIC, sizeof(h->magic));
	h->version = CACHE_VERSION;
	h->size = sizeof(*h);
	h->key = m->cache->key;
	h->file_size = f->end;
	h->built_at = time(NULL);
	cache_boot_id(h->boot, sizeof(h->boot));
	h->rows = w->columns->count;
	h->group_count = f->group_count;
	memcpy(h->groups, f->groups, sizeof(h->groups));
	h->sum = cache_header_sum(h);
	/* Without a boot id there is no telling whether the system crashed since. */
	if (!h->boot[0]) {
		w->error = fsync(w->fd) < 0 ? -errno : 0;
		h->sealed = CACHE_SEALED;
	}
	if (!w->error && ftruncate(w->fd, (off_t)f->end) < 0)
		w->error = -errno;
	if (!w->error)
		w->error = write_at(w->fd, h, sizeof(*h), 0);
}

int cache_write(struct model *m)
{
	struct writing w = { .columns = &m->allocations };
	bool was_in_memory = !m->allocations.file;
	int fd;

	if (was_in_memory) {
		fd = cache_spill(m->cache);
		if (fd < 0)
			return fd;
		w.error = m->allocations.packed ? columns_write_packed(&m->allocations, fd)
						: columns_to_file(&m->allocations, fd);
		if (w.error) {
			close(fd);
			return w.error;
		}
	}
	/* Columns that had to leave the cache's file for another are not to be stored. */
	if (m->cache->fd < 0 || m->allocations.file->end > m->cache->limit)
		return -EFBIG;
	w.fd = m->cache->fd;
	stats_derive(m);
	put_sections(&w, m);
	if (w.error)
		return w.error;
	if (was_in_memory && !m->allocations.packed)
		columns_trim(&m->allocations);
	put_header(&w, m);
	return w.error;
}
