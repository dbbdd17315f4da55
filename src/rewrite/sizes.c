/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where the bytes go.  See sizes.h.
 *
 * A chunk's columns are compressed together, so no column has stored bytes of its own.  Each is
 * compressed alone, and the chunk's bytes are shared out in proportion to that; an op gets the
 * share of each column that it has of the column's bytes. */
#include "rewrite/sizes.h"

#include <string.h>
#include <zstd.h>

#include "base/xalloc.h"
#include "wire/codec.h"

static const char *const type_names[] = {
	[CHUNK_INFO] = "INFO",
	[CHUNK_CLOCK] = "CLOCK",
	[CHUNK_MODULES] = "MODULES",
	[CHUNK_NODES] = "NODES",
	[CHUNK_EVENTS] = "EVENTS",
	[CHUNK_THREADS] = "THREADS",
	[CHUNK_FILE] = "FILE",
	[CHUNK_COUNTERS] = "COUNTERS",
	[CHUNK_END] = "END",
	[CHUNK_INDEX] = "INDEX",
	[CHUNK_STATISTICS] = "STATISTICS",
	[CHUNK_SYMBOLS] = "SYMBOLS",
	[CHUNK_REGIONS] = "REGIONS",
	[CHUNK_SHARED_FILE] = "SHARED_FILE",
	[CHUNK_PAGES] = "PAGES",
};

static const char *const column_names[COLUMN_COUNT] = {
	[COLUMN_RUNS] = "runs",	      [COLUMN_CODES] = "codes", [COLUMN_STAMPS] = "stamps",
	[COLUMN_STAMPS2] = "stamps2", [COLUMN_JUMPS] = "jumps", [COLUMN_ADDRESSES] = "addresses",
	[COLUMN_STACKS] = "stacks",   [COLUMN_SIZES] = "sizes", [COLUMN_SLACKS] = "slacks",
	[COLUMN_OTHER] = "other",
};

static const char *const op_names[SIZES_OPS] = {
	[OP_ALLOC] = "ALLOC",
	[OP_FREE] = "FREE",
	[OP_REALLOC_FROM] = "REALLOC_FROM",
	[OP_REALLOC_TO] = "REALLOC_TO",
	[OP_REALLOC_FREED] = "REALLOC_FREED",
	[OP_REALLOC_FAILED] = "REALLOC_FAILED",
	[OP_THREAD] = "THREAD",
	[OP_MARKER] = "MARKER",
	[OP_MAP] = "MAP",
	[OP_UNMAP] = "UNMAP",
	[OP_CHANGE] = "CHANGE",
};
_Static_assert(OP_COUNT <= SIZES_OPS, "an op without a row");

const char *sizes_type_name(unsigned type)
{
	return type < sizeof(type_names) / sizeof(type_names[0]) ? type_names[type] : NULL;
}

const char *sizes_column_name(unsigned column)
{
	return column < COLUMN_COUNT ? column_names[column] : NULL;
}

const char *sizes_op_name(unsigned op)
{
	return op < SIZES_OPS ? op_names[op] : NULL;
}

struct measuring {
	struct sizes *sizes;
	struct codec_decoder decoder;
	void *packed; /* room for a compressed column */
	size_t packed_room;
	/* Half bytes of each op in each column, of one chunk: lengths are half bytes. */
	uint64_t shares[SIZES_OPS][COLUMN_COUNT];
};

static uint64_t alone(struct measuring *m, const uint8_t *bytes, size_t size)
{
	size_t n, room = ZSTD_compressBound(size);

	if (room > m->packed_room) {
		free(m->packed);
		m->packed = xmalloc(room);
		m->packed_room = room;
	}
	n = size ? ZSTD_compress(m->packed, room, bytes, size, 1) : 0;
	return ZSTD_isError(n) || n > size ? size : n;
}

/* Reads the chunk's events one by one and sees how far each column moves. */
static void share_out(struct measuring *m, uint64_t *ret_counts)
{
	struct codec_decoder *d = &m->decoder;
	uint32_t ring, count;
	struct event e;

	memset(m->shares, 0, sizeof(m->shares));
	while (codec_next_run(d, &ring, &count))
		while (count--) {
			const uint8_t *before[COLUMN_COUNT];
			uint64_t values[COLUMN_COUNT];
			unsigned op;

			memcpy(before, d->data, sizeof(before));
			memcpy(values, d->counts, sizeof(values));
			if (!codec_read(d, &e, 1))
				return;
			op = event_op(&e) % SIZES_OPS;
			m->sizes->ops[op].count++;
			for (unsigned i = 0; i < COLUMN_COUNT; i++)
				m->shares[op][i] += 2 * (uint64_t)(d->data[i] - before[i]) +
						    d->counts[i] - values[i];
		}
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		ret_counts[i] = d->counts[i];
}

static void measure_events(struct measuring *m, const struct chunk *c)
{
	struct codec_decoder *d = &m->decoder;
	uint64_t packed[COLUMN_COUNT], raw[COLUMN_COUNT], counts[COLUMN_COUNT] = { 0 }, all = 0;
	uint64_t stored = c->head.stored_size + sizeof(c->head);

	if (!codec_open(d, c->payload, c->payload_size))
		return;
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		raw[i] = (uint64_t)(d->data_end[i] - d->lengths[i]);
		packed[i] = alone(m, d->lengths[i], raw[i]);
		all += packed[i];
	}
	share_out(m, counts);
	for (unsigned i = 0; i < COLUMN_COUNT; i++) {
		struct sizes_row *row = &m->sizes->columns[i];
		uint64_t part = all ? stored * packed[i] / all : 0;

		row->raw += raw[i];
		row->count += counts[i] ? counts[i] : i == COLUMN_JUMPS ? raw[i] / 8 : raw[i];
		row->stored += part;
		for (unsigned op = 0; op < SIZES_OPS && raw[i]; op++) {
			uint64_t bytes = m->shares[op][i] / 2;

			m->sizes->ops[op].raw += bytes;
			m->sizes->ops[op].stored += part * bytes / raw[i];
		}
	}
}

static bool sizes_visit(void *visitor, const struct chunk *c, struct source_events *events)
{
	struct measuring *m = visitor;
	struct sizes_row *row = &m->sizes->types[c->head.type];

	row->count++;
	row->stored += c->head.stored_size + sizeof(c->head);
	row->raw += c->payload_size;
	m->sizes->rest_bytes -= c->head.stored_size + sizeof(c->head);
	if (events)
		measure_events(m, c);
	return true;
}

void sizes_measure(struct sizes *z, struct source *s)
{
	auto_free struct measuring *m = xcalloc(1, sizeof(*m));

	memset(z, 0, sizeof(*z));
	m->sizes = z;
	z->file_bytes = z->rest_bytes = s->reader.size;
	s->visit = sizes_visit;
	s->visitor = m;
	s->visit_ends = true;
	z->loss = source_each(s);
	free(m->packed);
}
