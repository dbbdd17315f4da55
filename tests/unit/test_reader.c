/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that are cut, flipped, foreign or newer: what is before the damage is used, and the loss is
 * named with its offset. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "model/model.h"
#include "recording_writer.h"
#include "wire/shm.h"

static const struct model_options alone = { .workers = 0 };

/* Where chunks end, and how many events the recording has up to there. */
static struct {
	size_t offset;
	uint64_t events;
} chunk_ends[32];
static unsigned end_count;

static void note(const struct writer *w, uint64_t events)
{
	chunk_ends[end_count].offset = w->out.size;
	chunk_ends[end_count++].events = events;
}

/* A small recording with a chunk of every type. */
static void make_recording(struct writer *w, uint8_t codec)
{
	static const uint8_t file[] = "\x01\x08\x00\x02\xab\xcd\x02/xelfbytes";
	struct writer_node nodes[3] = { { 0, 0x1000, 1, 0 },
					{ 1, 0x2000, 1, 0 },
					{ 2, 0x10, 1, 0 } };
	struct event e[4];

	end_count = 0;
	writer_init(w, -1);
	w->codec = codec;
	writer_header(w, FORMAT_VERSION);
	note(w, 0);
	writer_info(w, "pid", "77", 2);
	note(w, 0);
	writer_clock(w, 1000, 5000, 6000);
	note(w, 0);
	writer_module(w, 1, 0x400000, 0x400000, 0x500000, "\xab\xcd", 2, "/x");
	note(w, 0);
	writer_nodes(w, 1, nodes, 3);
	note(w, 0);
	e[0] = make_thread(1001, 77, "main");
	e[1] = make_event(OP_ALLOC, CALL_malloc, 1010, 0x5000, 100, 3);
	e[2] = make_event(OP_ALLOC, CALL_calloc, 1020, 0x6000, 50, 2);
	writer_run(w, 0, e, 3);
	writer_events(w, 1021);
	note(w, 3);
	writer_chunk(w, CHUNK_FILE, file, sizeof(file) - 1, 0);
	note(w, 3);
	writer_chunk(w, 200, "from the future", 15, 0);
	note(w, 3);
	e[0] = make_event(OP_FREE, CALL_free, 1030, 0x5000, 0, 3);
	writer_run(w, 0, e, 1);
	writer_events(w, 1031);
	note(w, 4);
	writer_thread(w, 77, "renamed");
	note(w, 4);
	writer_counter(w, "dropped_ring_full", 5);
	note(w, 4);
	writer_end(w, true);
}

static struct model *load(const void *data, size_t size, struct err *err)
{
	struct model *m;

	if (model_open_memory(&m, data, size, err))
		return NULL;
	model_load(m, &alone);
	model_finish(m);
	return m;
}

static void whole_recording(void **context)
{
	static const uint8_t codecs[] = { CODEC_RAW, CODEC_ZSTD, CODEC_LZ4 };

	for (unsigned i = 0; i < 3; i++) {
		struct buf bytes = { 0 };
		struct writer w;
		struct model *m;
		struct err err;

		make_recording(&w, codecs[i]);
		m = load(w.out.data, w.out.size, &err);
		assert_non_null(m);
		assert_int_equal(m->loss.kind, LOSS_NONE);
		assert_true(m->reader.ended);
		assert_int_equal(m->totals.events, 4);
		assert_int_equal(m->totals.allocations, 2);
		assert_int_equal(m->totals.deallocations, 1);
		assert_int_equal(m->totals.peak_bytes, 150);
		assert_int_equal(m->totals.live_bytes, 50);
		assert_string_equal(model_info(m, "pid"), "77");
		assert_int_equal(model_counters(m, "dropped_"), 5);
		assert_int_equal(m->tables.threads.count, 1);
		assert_string_equal(m->tables.threads.rows[0].name, "renamed");
		assert_int_equal(m->tables.nodes.known, 3);
		assert_int_equal(model_file(m, (const uint8_t *)"\xab\xcd", 2, "", &bytes, &err),
				 0);
		assert_int_equal(bytes.size, 8);
		assert_memory_equal(bytes.data, "elfbytes", 8);
		assert_int_not_equal(model_file(m, (const uint8_t *)"\1\2", 2, "", &bytes, &err),
				     0);
		buf_release(&bytes);
		model_free(m);
		writer_release(&w);
	}
}

static void cut_anywhere(void **context)
{
	struct writer w;

	make_recording(&w, CODEC_ZSTD);
	for (size_t n = 0; n < w.out.size; n++) {
		uint8_t *copy = xmalloc(n); /* so that a sanitizer sees the first byte too many */
		unsigned last = 0;
		struct err err;
		struct model *m;

		if (n)
			memcpy(copy, w.out.data, n);
		m = load(copy, n, &err);
		if (n < sizeof(struct format_header)) {
			assert_null(m);
			assert_true(err.offset <= n);
			assert_true(strlen(err.text) > 0);
			free(copy);
			continue;
		}
		assert_non_null(m);
		while (last + 1 < end_count && chunk_ends[last + 1].offset <= n)
			last++;
		assert_int_equal(m->totals.events, chunk_ends[last].events);
		if (m->reader.ended) {
			/* Only the index or the trailer is missing. */
			assert_int_equal(m->totals.events, 4);
		} else {
			assert_int_equal(m->loss.kind, LOSS_CUT);
			assert_int_equal(m->loss.err.offset, chunk_ends[last].offset);
		}
		model_free(m);
		free(copy);
	}
	writer_release(&w);
}

static void every_flip_is_noticed(void **context)
{
	const size_t at_version = offsetof(struct format_header, version);
	struct writer w;
	uint32_t version;

	make_recording(&w, CODEC_ZSTD);
	for (size_t i = 0; i < w.out.size; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct err err;
			struct model *m;
			unsigned last = 0;

			w.out.data[i] ^= (char)(1 << bit);
			m = load(w.out.data, w.out.size, &err);
			memcpy(&version, w.out.data + at_version, sizeof(version));
			/* The id is random bytes: any is as good as another; and what was written
			 * is good in an earlier version, too. */
			if ((i >= offsetof(struct format_header, id) &&
			     i < sizeof(struct format_header)) ||
			    (i == at_version && version && version < FORMAT_VERSION)) {
				assert_int_equal(m->loss.kind, LOSS_NONE);
			} else if (i < offsetof(struct format_header, size)) {
				assert_null(m);
			} else if (m) {
				assert_int_equal(m->loss.kind, LOSS_DAMAGED);
				while (last + 1 < end_count && chunk_ends[last + 1].offset <= i)
					last++;
				if (i >= sizeof(struct format_header))
					assert_int_equal(m->totals.events, chunk_ends[last].events);
			}
			model_free(m);
			w.out.data[i] ^= (char)(1 << bit);
		}
	}
	writer_release(&w);
}

static void foreign_files(void **context)
{
	static const char text[] = "This is a text file, and long enough to hold a header, too.\n";
	struct err err;
	struct writer w;

	assert_null(load("", 0, &err));
	assert_string_equal(err.text, "the file is empty");
	assert_null(load(text, sizeof(text), &err));
	assert_string_equal(err.text, "not a memoir recording");
	assert_int_equal(err.offset, 0);
	assert_null(load("ME", 2, &err));
	assert_int_equal(err.offset, 2);
	assert_null(load("MX", 2, &err));
	assert_string_equal(err.text, "not a memoir recording");

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION + 1);
	assert_null(load(w.out.data, w.out.size, &err));
	assert_int_equal(err.offset, 8);
	assert_non_null(strstr(err.text, "newer"));
	writer_release(&w);
}

static void more_behind_the_end(void **context)
{
	struct writer w;
	struct model *m;
	struct err err;

	make_recording(&w, CODEC_RAW);
	buf_text(&w.out, "more");
	m = load(w.out.data, w.out.size, &err);
	assert_int_equal(m->loss.kind, LOSS_DAMAGED);
	assert_int_equal(m->totals.events, 4);
	model_free(m);
	writer_release(&w);
}

/* Sums are right, contents are not: a writer with a fault, or somebody with bad intentions. */
static void lies_with_good_sums(void **context)
{
	static const struct {
		unsigned type;
		const char *bytes;
		size_t size;
	} lies[] = {
		{ CHUNK_INFO, "\xff\xff\xff\xff\x0f", 5 },
		{ CHUNK_INFO, "\x01k\x7fv", 4 },
		{ CHUNK_CLOCK, "short", 5 },
		{ CHUNK_MODULES, "\x00\x00\x00\x00\x00\x00\x00", 7 },
		{ CHUNK_MODULES, "\xff\xff\xff\x7f\x00\x00\x00\x00\x00\x00", 10 },
		{ CHUNK_NODES, "\x01\xff\xff\xff\xff\x0f", 6 },
		{ CHUNK_NODES, "\xff\xff\xff\xff\x0e\x01\x01\x00\x00\x00", 10 },
		{ CHUNK_NODES, "\x01\x01\x00\x00\x00\x00", 6 }, /* its own parent */
		{ CHUNK_NODES, "\x01\x01\x05\x00\x00\x00", 6 }, /* parent before the root */
		{ CHUNK_EVENTS, "", 0 },
		{ CHUNK_EVENTS, "12345678\xff\xff\xff\x7f", 12 },
		{ CHUNK_THREADS, "\x01\x70", 2 },
		{ CHUNK_FILE, "\x01\x02\x09\x00\x00", 5 },
		{ CHUNK_COUNTERS, "\x01n", 2 },
		{ CHUNK_SYMBOLS, "\x09", 1 },
		{ CHUNK_SYMBOLS, "\x01\x05text", 6 },
		{ CHUNK_SYMBOLS, "\x02\x01\x00\x01\x01\x00\x00\x00\x00\x00",
		  10 }, /* no such text */
		{ CHUNK_SYMBOLS, "\x02\x01\x00\x00", 4 },
		{ CHUNK_STATISTICS, "\x01\x00\x01", 3 },
	};

	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		bool nothing = !lies[i].size && lies[i].type != CHUNK_EVENTS;
		struct writer w;
		struct model *m;
		struct err err;

		writer_init(&w, -1);
		writer_header(&w, FORMAT_VERSION);
		writer_chunk(&w, lies[i].type, lies[i].bytes, lies[i].size, 0);
		writer_end(&w, true);
		m = load(w.out.data, w.out.size, &err);
		assert_non_null(m);
		assert_int_equal(m->loss.kind, nothing ? LOSS_NONE : LOSS_DAMAGED);
		assert_int_equal(m->loss.err.offset, sizeof(struct format_header));
		model_free(m);
		writer_release(&w);
	}
}

static void ring_out_of_range(void **context)
{
	struct event e = make_event(OP_ALLOC, CALL_malloc, 1, 0x10, 1, 0);
	struct writer w;
	struct model *m;
	struct err err;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_run(&w, SHM_MAX_RINGS, &e, 1);
	writer_events(&w, 2);
	m = load(w.out.data, w.out.size, &err);
	assert_int_equal(m->loss.kind, LOSS_DAMAGED);
	assert_int_equal(m->totals.events, 0);
	model_free(m);
	writer_release(&w);
}

static int file_with(const struct writer *w, size_t size, char *path)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, w->out.data, size, 0), size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void grows_while_it_is_read(void **context)
{
	struct writer w;
	struct model *m;
	struct err err;
	char path[64];
	size_t half;
	int fd;

	make_recording(&w, CODEC_ZSTD);
	half = chunk_ends[5].offset + 7;
	fd = file_with(&w, half, path);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(model_open(&m, path, &err), 0);
	assert_true(reader_is_being_written(&m->reader));
	model_load(m, &alone);
	assert_int_equal(m->loss.kind, LOSS_CUT);
	assert_int_equal(m->totals.events, 3);
	assert_int_equal(pwrite(fd, w.out.data + half, w.out.size - half, (off_t)half),
			 w.out.size - half);
	model_load(m, &alone);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	assert_int_equal(m->totals.events, 4);
	flock(fd, LOCK_UN);
	assert_false(reader_is_being_written(&m->reader));
	model_finish(m);
	model_free(m);
	close(fd);
	writer_release(&w);
}

static void shrinks_while_it_is_read(void **context)
{
	struct writer w;
	struct model *m;
	struct err err;
	char path[64];
	int fd;

	make_recording(&w, CODEC_ZSTD);
	fd = file_with(&w, chunk_ends[5].offset + 7, path);
	assert_int_equal(model_open(&m, path, &err), 0);
	model_load(m, &alone);
	assert_int_equal(ftruncate(fd, 10), 0);
	model_load(m, &alone);
	assert_int_equal(m->loss.kind, LOSS_CUT);
	assert_int_equal(m->totals.events, 3);
	model_finish(m);
	model_free(m);
	close(fd);
	writer_release(&w);
}

UNIT(reader)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_recording),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(every_flip_is_noticed),
		cmocka_unit_test(foreign_files),
		cmocka_unit_test(more_behind_the_end),
		cmocka_unit_test(lies_with_good_sums),
		cmocka_unit_test(ring_out_of_range),
		cmocka_unit_test(grows_while_it_is_read),
		cmocka_unit_test(shrinks_while_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
