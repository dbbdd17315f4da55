/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader of cached recordings, on a file that is anything but what was written.
 *
 * Such a file is at least a megabyte, nearly all of it zeros, and its sums stop a fuzzer at once.
 * So the input is a list of changes to a good file, which has packed rows where the input's length
 * is odd: two bytes of where (a place within the header,
 * the tables, the columns or the rest), one of how many, and that many bytes to put there.  The
 * sums are put right, and whatever is still accepted must be safe to walk through. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "model/cache_format.h"
#include "wire/codec.h"
#include "wire/varint.h"

/* A good file, made once: of plain rows, and of packed ones. */
static struct good {
	uint8_t *bytes;
	size_t size;
} goods[2];

static size_t put_chunk(uint8_t *out, uint64_t sequence, uint8_t type, const void *payload,
			size_t size)
{
	struct format_chunk h = { .magic = FORMAT_CHUNK_MAGIC,
				  .type = type,
				  .stored_size = (uint32_t)size,
				  .raw_size = (uint32_t)size,
				  .sequence = sequence };

	h.checksum = XXH3_64bits_withSeed(payload, size,
					  XXH3_64bits(&h, offsetof(struct format_chunk, checksum)));
	memcpy(out, &h, sizeof(h));
	memcpy(out + sizeof(h), payload, size);
	return sizeof(h) + size;
}

static struct event event(enum event_op op, uint64_t stamp, uint64_t address, uint64_t size,
			  uint64_t slack)
{
	return (struct event){ stamp, address | (uint64_t)op << 56, size, 3 | slack << 32 };
}

static size_t put_events(uint8_t *out)
{
	struct event events[64];
	struct codec_encoder e;
	void *scratch = malloc(codec_scratch_size());
	size_t size;
	uint32_t n = 0;

	for (uint64_t i = 1; i <= 20; i++)
		events[n++] = event(OP_ALLOC, i, i * 16, i, i == 7 ? 70000 : 0);
	for (uint64_t i = 1; i <= 5; i++) {
		events[n++] = event(OP_REALLOC_FROM, 20 + 2 * i, i * 16, 0, 0);
		events[n++] = event(OP_REALLOC_TO, 21 + 2 * i, 4096 + i * 16, i, 0);
	}
	events[n++] = event(OP_FREE, 50, 10 * 16, 0, 0);
	events[n++] = event(OP_MARKER, 51, 5, 0, 0);
	codec_start(&e, scratch);
	codec_add(&e, 0, events, n);
	size = codec_finish(&e, 100, out);
	free(scratch);
	return size;
}

/* A small recording, loaded and stored as any other. */
static void make_good(struct good *good, bool packed)
{
	static const uint8_t nodes[] =
		"\x01\x05\x01\x02\x00\x00\x01\x02\x00\x00\x01\x02\x00\x00\x01"
		"\x02\x00\x00\x01\x02\x00";
	static const uint8_t file[] = "\x01\x04\x00\x02id\x02/xfour";
	struct format_header h = { .version = FORMAT_VERSION, .size = sizeof(h) };
	uint8_t *recording = malloc(1u << 20), *payload = malloc(codec_payload_bound());
	struct model_options options = { 0 };
	struct cache *cache = xcalloc(1, sizeof(*cache));
	struct model *m;
	struct err err;
	size_t at = sizeof(h);

	setenv("MEMOIR_PACK_EVENTS", packed ? "0" : "1000", 1);
	setenv("MEMOIR_PACK_BITS", "3", 1);
	memcpy(h.magic, FORMAT_MAGIC, sizeof(h.magic));
	memcpy(recording, &h, sizeof(h));
	at += put_chunk(recording + at, 0, CHUNK_INFO,
			"\x03pid\x01"
			"7",
			6);
	at += put_chunk(recording + at, 1, CHUNK_MODULES, "\x01\x00\x01\x02\x00\x02id\x02/x", 11);
	at += put_chunk(recording + at, 2, CHUNK_NODES, nodes, 22);
	at += put_chunk(recording + at, 3, CHUNK_FILE, file, 13);
	at += put_chunk(recording + at, 4, CHUNK_COUNTERS,
			"\x01"
			"a\x05",
			3);
	at += put_chunk(recording + at, 5, CHUNK_EVENTS, payload, put_events(payload));
	at += put_chunk(recording + at, 6, CHUNK_END, "", 0);
	if (model_open_memory(&m, recording, at, &err))
		abort();
	cache->dir = -1;
	cache->limit = UINT64_MAX;
	cache->fd = memfd_create("cache", MFD_CLOEXEC);
	m->cache = cache;
	model_load(m, &options);
	m->cache = NULL; /* it has no place in a folder */
	model_finish(m);
	m->cache = cache;
	if (m->loss.kind != LOSS_NONE || cache_write(m) < 0)
		abort();
	good->size = (size_t)lseek(cache->fd, 0, SEEK_END);
	good->bytes = malloc(good->size);
	if (pread(cache->fd, good->bytes, good->size, 0) != (ssize_t)good->size)
		abort();
	model_free(m);
	free(recording);
	free(payload);
}

/* Where a place of 16 bits is: the places that matter are small, and far apart. */
static uint64_t place(const struct cache_header *h, uint16_t where)
{
	unsigned kind = where >> 13, offset = where & 0x1fff;

	if (kind < 2)
		return offset % sizeof(*h);
	if (kind < 5)
		return h->sections[CACHE_TABLES].offset +
		       offset % (h->sections[CACHE_TABLES].size + 64);
	if (kind == 5)
		return h->sections[offset % CACHE_SECTIONS].offset + offset / CACHE_SECTIONS;
	if (h->packed.group_bits && kind == 6)
		return h->packed.table_offset +
		       offset % (h->packed.group_count * sizeof(struct row_group));
	if (h->packed.group_bits)
		return h->packed.offset + offset % h->packed.used;
	/* Any of the first rows of any column. */
	return h->groups[0].offset + (uint64_t)(offset / 256 % 16) * 4 * COLUMNS_UNIT +
	       offset % 256;
}

static void mend(uint8_t *file, size_t size)
{
	struct cache_header h;
	uint64_t offset, length;

	memcpy(&h, file, sizeof(h));
	memcpy(h.magic, CACHE_MAGIC, sizeof(h.magic));
	h.version = CACHE_VERSION;
	h.size = sizeof(h);
	h.file_size = size;
	h.sealed = CACHE_SEALED;
	offset = h.sections[CACHE_TABLES].offset;
	length = h.sections[CACHE_TABLES].size;
	if (offset <= size && length <= size - offset)
		h.tables_sum = cache_tables_sum(file + offset, length);
	h.sum = cache_header_sum(&h);
	memcpy(file, &h, sizeof(h));
}

static volatile uint64_t sink;

/* As those do who believe it. */
static void walk(const struct model *m)
{
	const struct columns *c = &m->allocations;
	const struct nodes *n = &m->tables.nodes;
	const struct summary *s = model_summary(m);
	struct stack_counts counts;
	struct stack_sums sums;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		sum += columns_allocated_at(c, i) + columns_slack(c, i);
		sum += s->rows[summary_row_of(s, columns_stack(c, i))].sums.count;
		sum += m->tables.threads.rows[tags_thread(columns_tags(c, i))].tid;
		sum += m->tables.threads.rows[tags_free_thread(columns_tags(c, i))].tid;
		if (columns_previous(c, i) != NO_ALLOCATION)
			sum += columns_address(c, columns_previous(c, i));
		if (columns_chain(c, i) != NO_CHAIN)
			sum += columns_address(c, m->chains[columns_chain(c, i)].last);
		for (uint32_t k = columns_stack(c, i); node_is_known(n, k); k = n->parent[k])
			sum += n->frame[k] + n->flags[k];
	}
	stats_count_stacks(m, &counts);
	stats_sum_stacks(m, &sums);
	for (unsigned order = 0; order < STACK_ORDERS; order++)
		sum += stack_sums_top(&sums, (enum stack_order)order, 5);
	stack_sums_release(&sums);
	for (size_t i = 0; i < m->tables.file_count; i++)
		sum += strlen(m->tables.files[i].path) + m->tables.files[i].piece_count;
	for (size_t i = 0; i < m->tables.markers.count; i++)
		sum += strlen(m->tables.markers.rows[i].name);
	sink = sum + model_runtime_ns(m) + strlen(m->loss.err.text);
}

FUZZ(cache, data, size)
{
	const struct good *good = &goods[size % 2];
	size_t good_size;
	struct cache_header h;
	struct model *m;
	uint8_t *file;
	int fd;

	if (!good->bytes)
		make_good(&goods[size % 2], size % 2);
	good_size = good->size;
	fd = memfd_create("cache", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)good_size) < 0)
		abort();
	file = mmap(NULL, good_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		abort();
	memcpy(&h, good->bytes, sizeof(h));
	memcpy(file, good->bytes, good_size);
	while (size >= 3) {
		uint64_t at = place(&h, (uint16_t)(data[0] | data[1] << 8));
		size_t count = data[2] < size - 3 ? data[2] : size - 3;

		for (size_t i = 0; i < count && at + i < good_size; i++)
			file[at + i] = data[3 + i];
		data += 3 + count;
		size -= 3 + count;
	}
	mend(file, good_size);
	munmap(file, good_size);
	m = xcalloc(1, sizeof(*m));
	m->reader.fd = -1;
	if (cache_map(m, fd, NULL))
		walk(m);
	model_free(m);
	return 0;
}
