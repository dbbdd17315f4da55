/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names in a recording: what was written is what is read, whatever it is; and what full anonymity
 * leaves of a recording that is full of names. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "model/locations.h"
#include "recording_writer.h"
#include "rewrite/postprocess.h"
#include "rewrite/repack.h"
#include "wire/symbols.h"

static char folder[64], *in, *out, *plain;

static void put_text(struct buf *b, const char *text)
{
	uint8_t head[SYMBOLS_HEAD_MAX];

	buf_add(b, head, (size_t)(symbols_put_text(head, strlen(text)) - head));
	buf_text(b, text);
}

static void put_location(struct buf *b, uint32_t module, uint64_t address, uint64_t last,
			 const struct symbols_line *lines, uint32_t count)
{
	struct symbols_location location = { address, module, count };
	uint8_t bytes[SYMBOLS_LINE_MAX];

	buf_add(b, bytes, (size_t)(symbols_put_location(bytes, &location, last) - bytes));
	for (uint32_t i = 0; i < count; i++)
		buf_add(b, bytes, (size_t)(symbols_put_line(bytes, &lines[i]) - bytes));
}

/* A recording with something private in every chunk that can hold it. */
static void write_private(void)
{
	static const char cmdline[] = "/secret0/secret1\0--secret2=secret3";
	static const uint8_t file[] = "\x01\x08\x00\x00\x08/secret4contents";
	struct symbols_line lines[] = { { 1, 2, 3, 10, 5, 1 }, { 4, 4, 3, 20, 0, 0 } };
	struct writer_node nodes[3] = { { 0, 0x401000, 1, 0 },
					{ 1, 0x402000, 1, 0 },
					{ 2, 0x403000, 2, 0 } };
	struct event e[5];
	struct buf b = { 0 };
	uint8_t level[SYMBOLS_HEAD_MAX];
	struct writer w;
	int fd = open(in, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	writer_init(&w, fd);
	w.codec = CODEC_ZSTD;
	writer_header(&w, FORMAT_VERSION);
	writer_info(&w, "pid", "77", 2);
	writer_info(&w, "executable", "/secret0/secret1", 16);
	writer_info(&w, "cmdline", cmdline, sizeof(cmdline));
	writer_info(&w, "hostname", "secret5", 7);
	writer_info(&w, "allocator", "/secret6/secret7.so", 19);
	writer_info(&w, "exec_path", "/secret6/secret8", 16);
	writer_info(&w, "secret9", "secret10", 8);
	writer_module(&w, 1, 0x400000, 0x400000, 0x500000, "secret11", 8, "/secret0/secret1");
	writer_module(&w, 2, 0, 0x400000, 0x500000, "secret12", 8, "/secret6/secret13.so");
	writer_nodes(&w, 1, nodes, 3);
	e[0] = make_thread(1000, 77, "secret14");
	e[1] = make_event(OP_ALLOC, CALL_malloc, 1001, 0x5000, 100, 2);
	e[2] = make_event(OP_MARKER, CALL_malloc, 1002, 5, 0, 0);
	memcpy(&e[2].word2, "secret15\0\0\0\0\0\0\0", 16);
	e[3] = make_event(OP_ALLOC, CALL_malloc, 1003, 0x6000, 50, 3);
	e[4] = make_event(OP_FREE, CALL_free, 1004, 0x6000, 0, 3);
	writer_run(&w, 0, e, 5);
	writer_events(&w, 1005);
	writer_thread(&w, 77, "secret16");
	writer_counter(&w, "dropped_ring_full", 5);
	writer_counter(&w, "calls of secret17", 5);
	writer_chunk(&w, CHUNK_FILE, file, sizeof(file) - 1, 0);
	writer_chunk(&w, 200, "secret18", 8, 0);
	put_text(&b, "secret19(int)");
	put_text(&b, "_Z8secret20i");
	put_text(&b, "/secret21/secret22.c");
	put_text(&b, "secret23");
	put_location(&b, 1, 0x402000 - 0x400000 - 1, 0, lines, 2);
	buf_add(&b, level, (size_t)(symbols_put_module(level, 1, SYMBOLS_LINES) - level));
	writer_chunk(&w, CHUNK_SYMBOLS, b.data, b.size, 0);
	buf_release(&b);
	writer_end(&w, true);
	writer_release(&w);
	close(fd);
}

static struct model *load(const char *path)
{
	struct model_options options = { .workers = 0 };
	struct model *m;
	struct err err;

	assert_int_equal(model_open(&m, path, &err), 0);
	model_load(m, &options);
	model_finish(m);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	return m;
}

static void process(const char *from, const char *to, enum anonymity how)
{
	struct postprocess_options options = { .anonymity = how };
	struct output_codec raw = { CODEC_RAW, 0 };
	struct postprocess_result result;
	struct output *o;
	struct source s;
	struct err err;

	assert_int_equal(source_open(&s, from, &err), 0);
	assert_int_equal(output_open(&o, to, &s.reader, how ? &raw : NULL, &err), 0);
	assert_int_equal(postprocess(&s, from, o, &options, &result, &err), 0);
	assert_int_equal(output_finish(o, NULL, &err), 0);
	assert_int_equal(result.named, 1);
	assert_int_equal(result.locations, 3);
	output_free(o);
	source_release(&s);
}

/* Which secrets are in the file: a bit each. */
static uint64_t secrets_in(const char *path)
{
	char *bytes = xcalloc(1, 1 << 16);
	int fd = open(path, O_RDONLY);
	ssize_t size = read(fd, bytes, 1 << 16);
	uint64_t found = 0;

	assert_true(size > 0 && size < 1 << 16);
	close(fd);
	for (unsigned i = 0; i < 24; i++) {
		char word[16];
		size_t n = (size_t)snprintf(word, sizeof(word), "secret%u", i);

		for (char *p = bytes; (p = memmem(p, (size_t)(bytes + size - p), word, n)); p += n)
			if (p[n] < '0' || p[n] > '9')
				found |= 1ull << i;
	}
	free(bytes);
	return found;
}

static void check_names(const char *path, const char *function, const char *file)
{
	struct model *m = load(path);
	struct locations *p = locations_new(m, NULL);
	const struct location_frame *frames;
	unsigned count;

	frames = locations_frames(p, locations_of_node(p, 2), &count);
	assert_int_equal(count, 2);
	assert_string_equal(locations_string(p, frames[0].function), function);
	assert_string_equal(locations_string(p, frames[0].file), file);
	assert_int_equal(frames[0].line, 10);
	assert_int_equal(frames[0].column, 5);
	assert_true(frames[0].inlined);
	assert_int_equal(frames[1].line, 20);
	assert_false(frames[1].inlined);
	assert_int_equal(locations_level(p, 1), SYMBOLS_LINES);
	assert_int_equal(m->totals.events, 5);
	assert_int_equal(m->totals.allocated_bytes, 150);
	assert_int_equal(m->tables.markers.count, 1);
	assert_int_equal(m->tables.markers.rows[0].value, 5);
	assert_int_equal(model_counters(m, "dropped_"), 5);
	assert_string_equal(model_info(m, "pid"), "77");
	locations_free(p);
	model_free(m);
}

static void names_stay(void **context)
{
	check_names(in, "secret19(int)", "/secret21/secret22.c");
	process(in, out, ANONYMIZE_NONE);
	check_names(out, "secret19(int)", "/secret21/secret22.c");
	/* Its output once more. */
	process(out, plain, ANONYMIZE_NONE);
	check_names(plain, "secret19(int)", "/secret21/secret22.c");
}

static void partial_hides_folders(void **context)
{
	process(in, out, ANONYMIZE_PARTIAL);
	check_names(out, "secret19(int)", "secret22.c");
	/* Folders, arguments, the host, files and what nobody knows are gone. */
	assert_int_equal(secrets_in(out) &
				 (1u << 0 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 |
				  1u << 9 | 1u << 10 | 1u << 17 | 1u << 18 | 1u << 21),
			 0);
	assert_int_equal(secrets_in(out) & (1u << 1 | 1u << 13 | 1u << 19 | 1u << 22),
			 1u << 1 | 1u << 13 | 1u << 19 | 1u << 22);
}

static void full_hides_everything(void **context)
{
	struct model *m;

	process(in, out, ANONYMIZE_FULL);
	check_names(out, "fn_1", "src_1");
	assert_int_equal(secrets_in(out), 0);
	m = load(out);
	assert_string_equal(model_info(m, "executable"), "program");
	assert_string_equal(model_info(m, "cmdline"), "program");
	assert_string_equal(model_info(m, "anonymized"), "full");
	assert_string_equal(m->tables.modules[1].path, "program");
	assert_string_equal(m->tables.modules[2].path, "lib_1");
	assert_int_equal(m->tables.modules[1].build_id_size, 0);
	assert_int_equal(m->tables.threads.count, 1);
	assert_string_equal(m->tables.threads.rows[0].name, "");
	assert_string_equal(m->tables.markers.rows[0].name, "");
	model_free(m);
	/* Unpacked, to look into what is compressed. */
	process(in, plain, ANONYMIZE_NONE);
	process(plain, out, ANONYMIZE_FULL);
	assert_int_equal(secrets_in(out), 0);
}

/* The generator sees the words itself: a search that finds nothing must be able to. */
static void secrets_are_found(void **context)
{
	struct output_codec raw = { CODEC_RAW, 0 };
	struct repack_result result;
	struct output *o;
	struct source s;
	struct err err;

	assert_int_equal(source_open(&s, in, &err), 0);
	assert_int_equal(output_open(&o, plain, &s.reader, &raw, &err), 0);
	repack(&s, o, &result);
	assert_int_equal(output_finish(o, NULL, &err), 0);
	output_free(o);
	source_release(&s);
	assert_int_equal(secrets_in(plain), (1u << 24) - 1);
}

static int make_files(void **context)
{
	strcpy(folder, "/tmp/memoir-test-postprocess-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	in = xasprintf("%s/in", folder);
	out = xasprintf("%s/out", folder);
	plain = xasprintf("%s/plain", folder);
	write_private();
	return 0;
}

static int remove_files(void **context)
{
	unlink(in);
	unlink(out);
	unlink(plain);
	free(in);
	free(out);
	free(plain);
	return rmdir(folder);
}

UNIT(postprocess)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_stay),
		cmocka_unit_test(partial_hides_folders),
		cmocka_unit_test(full_hides_everything),
		cmocka_unit_test(secrets_are_found),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
