/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One file of the program into the recording: its tables are shared, copied from where an earlier
 * collector has put them, or made and kept for the next one.  See embed.h and binary_store.h.
 * Called by binaries.c, on the collector's thread, a piece at a time. */
#include "collector/embed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf_type.h"
#include "collector/log.h"

#define DEBUG_FOLDER "/usr/lib/debug/.build-id"
/* Measured on the tables of libLLVM 14 (names of C++ functions, unwind tables), in pieces: level 1
 * makes 30 % of them at 440 MB/s, -1 34 % at 500, 3 29 % at 260. */
#define LEVEL 1
/* Smaller tables are made twice in less time than a claim takes. */
#define CLAIM_WORTH (1u << 20)

static void hex(char *out, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* Does the system have the debug file of this build?  Then a reader of the recording here has
 * names and lines from there, and elsewhere from the same package. */
static bool system_has_debug_file(const struct collector_file *f)
{
	char path[sizeof(DEBUG_FOLDER) + 2 * BUILD_ID_MAX + 16], id[2 * BUILD_ID_MAX + 1];

	if (f->build_id_size < 2)
		return false;
	hex(id, f->build_id, f->build_id_size);
	snprintf(path, sizeof(path), DEBUG_FOLDER "/%.2s/%s.debug", id, id + 2);
	return !access(path, R_OK);
}

static enum reduce_extent extent_for(const struct collector *c, const struct collector_file *f)
{
	if (f->included || c->control->options.write_binaries == BINARIES_FULL)
		return REDUCE_NOTHING;
	return system_has_debug_file(f) ? REDUCE_EXPORTED : REDUCE_TABLES;
}

/* What the tables are known by.  Stripping a file leaves its build id, so the size is a part of it;
 * a file without one is known by what the file system says of it. */
static void make_key(struct collector_file *f, const struct stat *st)
{
	char name[2 * BUILD_ID_MAX + 1];

	if (f->included)
		return;
	if (f->build_id_size) {
		hex(name, f->build_id, f->build_id_size);
	} else {
		const uint64_t facts[] = { st->st_dev, st->st_ino, (uint64_t)st->st_size,
					   (uint64_t)st->st_mtim.tv_sec,
					   (uint64_t)st->st_mtim.tv_nsec };

		if (f->source.memory)
			return;
		snprintf(name, sizeof(name), "file-%016llx",
			 (unsigned long long)XXH3_64bits(facts, sizeof(facts)));
	}
	snprintf(f->key, sizeof(f->key), "%s-%llx", name, (unsigned long long)f->image.size);
}

bool embed_plan(const struct collector *c, struct collector_file *f, const struct stat *st)
{
	if (!reduce_plan(&f->image, &f->source, extent_for(c, f)))
		return false;
	make_key(f, st);
	return true;
}

void embed_end(struct collector *c, struct collector_file *f)
{
	if (f->storing)
		binary_store_end(c->store, f->key, &f->build, false);
	f->storing = false;
	if (f->source.fd >= 0)
		close(f->source.fd);
	if (f->stored >= 0)
		close(f->stored);
	f->source.fd = f->stored = -1;
	pieces_release(&f->pieces);
	reduce_release(&f->image);
	f->state = FILE_DONE;
}

/* What FILE and SHARED_FILE begin with. */
static void put_head(struct collector *c, const struct collector_file *f, const uint64_t *offset)
{
	struct payload *p = &c->payload;
	size_t path_size = strnlen(f->path, PATH_MAX);

	p->used = 0;
	payload_number(p, (uint64_t)(f - c->files));
	payload_number(p, f->image.size);
	if (offset)
		payload_number(p, *offset);
	payload_counted(p, f->build_id, f->build_id_size);
	payload_counted(p, f->path, path_size);
}

static void write_reference(struct collector *c, struct collector_file *f)
{
	put_head(c, f, NULL);
	payload_text(&c->payload, f->key);
	recording_write(&c->recording, CHUNK_SHARED_FILE, EFFORT_REST, c->payload.data,
			c->payload.used, 0);
	embed_end(c, f);
}

static void write_frame(struct collector *c, struct collector_file *f, const void *frame,
			size_t size, size_t raw_size)
{
	put_head(c, f, &f->offset);
	recording_write_packed(&c->recording, CHUNK_FILE, c->payload.data, c->payload.used, frame,
			       size, raw_size);
}

/* Tables that are complete are shared, or copied from now on; false if there are none. */
static bool use_stored(struct collector *c, struct collector_file *f)
{
	f->stored = f->key[0] ? binary_store_find(c->store, f->key) : -1;
	if (f->stored < 0)
		return false;
	if (binary_store_shares(c->store) && binary_store_share(c->store, f->key, f->stored)) {
		write_reference(c, f);
		return true;
	}
	if (pieces_open(&f->pieces, f->stored) && f->pieces.total == f->image.size) {
		f->state = FILE_COPIED;
		return true;
	}
	close(f->stored);
	f->stored = -1;
	return false;
}

/* Tables that nobody has yet. */
static void begin_making(struct collector *c, struct collector_file *f)
{
	bool patient = !c->impatient && f->image.size >= CLAIM_WORTH;
	int error = f->key[0] ? binary_store_begin(c->store, f->key, patient, &f->build) : -ENOENT;

	if (error == -EBUSY) {
		f->state = FILE_WAITING;
		return;
	}
	f->storing = !error;
	f->beside = f->storing && binary_store_shares(c->store);
	f->state = FILE_MADE;
	/* It may have been completed between the look and the claim. */
	if (f->storing && use_stored(c, f) && f->storing) {
		binary_store_end(c->store, f->key, &f->build, false);
		f->storing = false;
	}
}

void embed_begin(struct collector *c, struct collector_file *f)
{
	if (!use_stored(c, f))
		begin_making(c, f);
}

static void copy_piece(struct collector *c, struct collector_file *f)
{
	uint32_t piece = (uint32_t)(f->offset / PIECE_SIZE);
	auto_buf struct buf frame = { 0 };

	if (pieces_stored(&f->pieces, piece, &frame)) {
		write_frame(c, f, frame.data, frame.size, pieces_raw_size(&f->pieces, piece));
		f->offset += PIECE_SIZE;
	} else {
		f->offset = UINT64_MAX;
	}
	if (f->offset >= f->pieces.total)
		embed_end(c, f);
}

/* Everything is made: for the others, and perhaps beside this recording. */
static void end_making(struct collector *c, struct collector_file *f)
{
	bool whole = f->storing && !binary_store_end(c->store, f->key, &f->build, true);

	f->storing = false;
	if (!f->beside) {
		embed_end(c, f);
		return;
	}
	if (whole && use_stored(c, f))
		return;
	/* It could not be kept: once more, into the recording. */
	f->beside = false;
	f->offset = 0;
}

static void make_piece(struct collector *c, struct collector_file *f)
{
	uint64_t left = f->image.size - f->offset;
	size_t size = left < PIECE_SIZE ? (size_t)left : PIECE_SIZE, n;
	uint8_t *raw = c->payload.data + c->payload.room / 2;
	uint8_t *frame = raw + PIECE_SIZE;

	if (!c->compressor) {
		c->compressor = ZSTD_createCCtx();
		if (!c->compressor) {
			embed_end(c, f);
			return;
		}
		ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_checksumFlag, 1);
	}
	if (!reduce_read(&f->image, &f->source, raw, size, f->offset)) {
		log_line(LOG_WARN, "%s is not embedded: it cannot be read", f->path);
		embed_end(c, f);
		return;
	}
	n = ZSTD_compress2(c->compressor, frame, ZSTD_compressBound(PIECE_SIZE), raw, size);
	if (ZSTD_isError(n)) {
		embed_end(c, f);
		return;
	}
	if (!f->beside)
		write_frame(c, f, frame, n, size);
	if (f->storing)
		pieces_add(&f->build.writer, frame, n, size);
	f->offset += size;
	if (f->offset >= f->image.size)
		end_making(c, f);
}
_Static_assert(PIECE_SIZE * 2 + 4096 < 1u << 20, "half of the payload's memory holds both");

void embed_piece(struct collector *c, struct collector_file *f)
{
	if (f->state == FILE_COPIED)
		copy_piece(c, f);
	else
		make_piece(c, f);
}
