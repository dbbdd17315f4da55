/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a recording to write it anew.  See source.h. */
#include "rewrite/source.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/pieces.h"
#include "base/xalloc.h"
#include "model/tables.h"
#include "recording/shared_file.h"
#include "rewrite/output.h"
#include "wire/codec.h"
#include "wire/shm.h"

int source_open(struct source *s, const char *path, struct err *err)
{
	int error;

	memset(s, 0, sizeof(*s));
	error = reader_open(&s->reader, path, err);
	if (error)
		return error;
	if (reader_is_being_written(&s->reader)) {
		reader_release(&s->reader);
		return err_set(err, -EBUSY, "still being written; --wait waits for its end");
	}
	return 0;
}

void source_release(struct source *s)
{
	reader_release(&s->reader);
}

static bool decode(struct source_events *e, struct codec_decoder *d, const struct chunk *c)
{
	uint32_t ring, count;

	e->event_count = e->run_count = 0;
	if (!codec_open(d, c->payload, c->payload_size))
		return false;
	e->horizon = d->horizon;
	while (codec_next_run(d, &ring, &count)) {
		if (ring >= SHM_MAX_RINGS || !codec_read(d, e->events + e->event_count, count))
			return false;
		*xpush(e->runs, e->run_count, e->run_room) = (struct source_run){ ring, count };
		e->event_count += count;
	}
	return !d->event_count && !d->run_count;
}

struct walk {
	struct chunk chunk;
	struct tables tables; /* only to see whether they can be filled */
	struct source_events events;
	struct codec_decoder decoder;
};

/* Unpacks and checks; false with `err` when the chunk is not what its type asks for. */
static bool check_chunk(struct walk *w, struct err *err)
{
	if (!chunk_unpack(&w->chunk, err))
		return false;
	if (w->chunk.head.type != CHUNK_EVENTS)
		return tables_add(&w->tables, &w->chunk, err);
	if (decode(&w->events, &w->decoder, &w->chunk))
		return true;
	err_at(err, -EINVAL, w->chunk.offset, "a chunk's events are malformed");
	return false;
}

/* What is beside the recording, as chunks that hold it; false if it is gone, or was not wanted. */
static bool embed(struct source *s, struct walk *w, bool *ret_more)
{
	const struct embedded_file *f = &w->tables.files[w->tables.file_count - 1];
	struct chunk piece = { .offset = w->chunk.offset, .head.type = CHUNK_FILE };
	auto_buf struct buf content = { 0 }, payload = { 0 };

	if (!s->embed || !shared_file_read(&s->reader, f->key, f->total_size, &content))
		return false;
	for (uint64_t at = 0; *ret_more && at < content.size; at += PIECE_SIZE) {
		size_t left = content.size - at;

		buf_clear(&payload);
		put_number(&payload, f->number);
		put_number(&payload, f->total_size);
		put_number(&payload, at);
		put_counted(&payload, f->build_id, f->build_id_size);
		put_counted(&payload, f->path, strlen(f->path));
		buf_add(&payload, content.data + at, left < PIECE_SIZE ? left : PIECE_SIZE);
		piece.payload = (const uint8_t *)payload.data;
		piece.payload_size = payload.size;
		*ret_more = s->visit(s->visitor, &piece, NULL);
	}
	return true;
}

static struct loss each(struct source *s, struct walk *w)
{
	struct loss loss = { .kind = LOSS_NONE };
	bool more = true;

	while (more && (!s->until || s->reader.offset < s->until)) {
		enum reader_status status = reader_next(&s->reader, &w->chunk, &loss.err);
		unsigned type = w->chunk.head.type;

		if (status == READER_END)
			break;
		if (status != READER_CHUNK) {
			loss.kind = status == READER_CUT ? LOSS_CUT : LOSS_DAMAGED;
			break;
		}
		if (type == CHUNK_EVENTS && s->skip_events)
			continue;
		if (!check_chunk(w, &loss.err)) {
			loss.kind = LOSS_DAMAGED;
			break;
		}
		if (s->progress)
			s->progress(s->context, s->reader.offset, s->reader.size);
		if (type == CHUNK_SHARED_FILE && w->chunk.payload_size && embed(s, w, &more))
			continue;
		if ((type != CHUNK_END && type != CHUNK_INDEX) || s->visit_ends)
			more = s->visit(s->visitor, &w->chunk,
					type == CHUNK_EVENTS ? &w->events : NULL);
	}
	return loss;
}

struct loss source_each(struct source *s)
{
	auto_free struct walk *w = xcalloc(1, sizeof(*w));
	struct loss loss;

	w->events.events = xreallocarray(NULL, CODEC_CHUNK_EVENTS, sizeof(*w->events.events));
	loss = each(s, w);
	chunk_release(&w->chunk);
	tables_release(&w->tables);
	free(w->events.events);
	free(w->events.runs);
	return loss;
}
