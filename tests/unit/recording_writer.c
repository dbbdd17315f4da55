/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings made by hand.  See recording_writer.h. */
#include "recording_writer.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "wire/varint.h"

#define FLUSH_SIZE (4u << 20)

void writer_init(struct writer *w, int fd)
{
	memset(w, 0, sizeof(*w));
	w->fd = fd;
	w->scratch = xmalloc(codec_scratch_size());
	w->payload = xmalloc(codec_payload_bound());
	codec_start(&w->encoder, w->scratch);
}

void writer_release(struct writer *w)
{
	buf_release(&w->out);
	buf_release(&w->index);
	free(w->scratch);
	free(w->payload);
	memset(w, 0, sizeof(*w));
}

void writer_header(struct writer *w, uint32_t version)
{
	struct format_header h = { .version = version, .size = sizeof(h) };

	memcpy(h.magic, FORMAT_MAGIC, sizeof(h.magic));
	for (unsigned i = 0; i < sizeof(h.id); i++)
		h.id[i] = (uint8_t)(0xa0 + i);
	buf_add(&w->out, &h, sizeof(h));
}

static void number(struct buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	buf_add(b, bytes, (size_t)(varint_put(bytes, v) - bytes));
}

static void counted(struct buf *b, const void *bytes, size_t size)
{
	number(b, size);
	buf_add(b, bytes, size);
}

void writer_chunk(struct writer *w, enum format_chunk_type type, const void *payload, size_t size,
		  uint32_t events)
{
	struct format_chunk h = { .magic = FORMAT_CHUNK_MAGIC,
				  .type = (uint8_t)type,
				  .codec = w->codec,
				  .raw_size = (uint32_t)size,
				  .sequence = w->sequence++ };
	uint64_t offset = w->written + w->out.size;
	size_t start = w->out.size, room, stored = size;

	number(&w->index, type);
	number(&w->index, offset - w->last_offset);
	number(&w->index, events);
	w->last_offset = offset;
	room = ZSTD_compressBound(size) + (size_t)LZ4_compressBound((int)size);
	buf_add(&w->out, &h, sizeof(h));
	buf_reserve(&w->out, room);
	if (h.codec == CODEC_ZSTD)
		stored = ZSTD_compress(w->out.data + w->out.size, room, payload, size, 1);
	else if (h.codec == CODEC_LZ4)
		stored = (size_t)LZ4_compress_default(payload, w->out.data + w->out.size, (int)size,
						      (int)room);
	else if (size)
		memcpy(w->out.data + w->out.size, payload, size);
	h.stored_size = (uint32_t)stored;
	h.checksum = XXH3_64bits_withSeed(w->out.data + w->out.size, stored,
					  XXH3_64bits(&h, offsetof(struct format_chunk, checksum)));
	memcpy(w->out.data + start, &h, sizeof(h));
	w->out.size += stored;
	if (w->fd >= 0 && w->out.size > FLUSH_SIZE) {
		w->written += w->out.size;
		buf_flush(&w->out, w->fd);
	}
}

static void send(struct writer *w, enum format_chunk_type type, struct buf *b)
{
	writer_chunk(w, type, b->data ? b->data : "", b->size, 0);
	buf_release(b);
}

void writer_info(struct writer *w, const char *key, const char *value, size_t size)
{
	struct buf b = { 0 };

	counted(&b, key, strlen(key));
	counted(&b, value, size);
	send(w, CHUNK_INFO, &b);
}

void writer_clock(struct writer *w, uint64_t stamp, uint64_t monotonic_ns, uint64_t realtime_ns)
{
	uint64_t reading[3] = { stamp, monotonic_ns, realtime_ns };

	writer_chunk(w, CHUNK_CLOCK, reading, sizeof(reading), 0);
}

void writer_module(struct writer *w, uint32_t index, uint64_t bias, uint64_t start, uint64_t end,
		   const void *build_id, size_t build_id_size, const char *path)
{
	struct buf b = { 0 };

	number(&b, index);
	number(&b, bias);
	number(&b, start);
	number(&b, end);
	number(&b, 0);
	counted(&b, build_id, build_id_size);
	counted(&b, path, strlen(path));
	send(w, CHUNK_MODULES, &b);
}

void writer_counter(struct writer *w, const char *name, uint64_t value)
{
	struct buf b = { 0 };

	counted(&b, name, strlen(name));
	number(&b, value);
	send(w, CHUNK_COUNTERS, &b);
}

void writer_thread(struct writer *w, uint64_t tid, const char *name)
{
	struct buf b = { 0 };

	number(&b, tid);
	counted(&b, name, strlen(name));
	send(w, CHUNK_THREADS, &b);
}

void writer_nodes(struct writer *w, uint32_t first, const struct writer_node *nodes, uint32_t count)
{
	struct buf b = { 0 };
	uint64_t address = 0;

	number(&b, first);
	number(&b, count);
	for (uint32_t i = 0; i < count; i++) {
		number(&b, first + i - nodes[i].parent);
		number(&b, zigzag(nodes[i].address - address));
		number(&b, nodes[i].module);
		number(&b, nodes[i].flags);
		address = nodes[i].address;
	}
	send(w, CHUNK_NODES, &b);
}

uint32_t writer_room(const struct writer *w)
{
	return codec_room(&w->encoder);
}

void writer_run(struct writer *w, uint32_t ring, const struct event *events, uint32_t count)
{
	codec_add(&w->encoder, ring, events, count);
}

void writer_events(struct writer *w, uint64_t horizon)
{
	uint32_t events = w->encoder.event_count;
	size_t size = codec_finish(&w->encoder, horizon, w->payload);

	writer_chunk(w, CHUNK_EVENTS, w->payload, size, events);
	codec_start(&w->encoder, w->scratch);
}

void writer_end(struct writer *w, bool index)
{
	struct format_trailer t = { 0 };
	struct buf copy = { 0 };

	writer_chunk(w, CHUNK_END, "", 0, 0);
	if (index) {
		t.index_offset = w->written + w->out.size;
		buf_add(&copy, w->index.data, w->index.size);
		send(w, CHUNK_INDEX, &copy);
		memcpy(t.magic, FORMAT_TRAILER_MAGIC, sizeof(t.magic));
		buf_add(&w->out, &t, sizeof(t));
	}
	if (w->fd >= 0) {
		w->written += w->out.size;
		buf_flush(&w->out, w->fd);
	}
}

struct event make_event(enum event_op op, enum event_call call, uint64_t stamp, uint64_t address,
			uint64_t size, uint32_t stack)
{
	return (struct event){
		.stamp = stamp,
		.word1 = (address & EVENT_ADDRESS_MASK) | (uint64_t)op << 56,
		.word2 = (size & EVENT_SIZE_MASK) | (uint64_t)call << 48,
		.word3 = stack,
	};
}

struct event make_thread(uint64_t stamp, uint64_t tid, const char *name)
{
	struct event e = { .stamp = stamp,
			   .word1 = (tid & EVENT_ADDRESS_MASK) | (uint64_t)OP_THREAD << 56 };
	char text[16] = { 0 };

	for (unsigned i = 0; i < sizeof(text) - 1 && name[i]; i++)
		text[i] = name[i];
	memcpy(&e.word2, text, sizeof(text));
	return e;
}

struct event make_marker(uint64_t stamp, uint32_t value, const char *name, unsigned piece)
{
	struct event e = { .stamp = stamp,
			   .word1 = value | (uint64_t)piece << 32 | (uint64_t)OP_MARKER << 56 };
	size_t size = strlen(name), from = (size_t)piece * MARKER_PIECE;

	for (size_t i = 0; i < MARKER_PIECE && from + i < size; i++)
		((char *)&e.word2)[i] = name[from + i];
	return e;
}
