/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Long outputs: packed and not, renamed when complete, nothing left behind when not. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/rope.h"
#include "base/sink.h"
#include "base/xalloc.h"

#define LINES 200000

static char folder[64];

static int setup(void **state)
{
	strcpy(folder, "/tmp/test_sink.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static unsigned entries(void)
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int teardown(void **state)
{
	char *command = xasprintf("rm -rf %s", folder);
	int status = system(command);

	free(command);
	return status;
}

static void fill(struct sink *s)
{
	for (int i = 0; i < LINES && !sink_turn(s); i++)
		buf_printf(&s->buf, "line %d\n", i);
}

static void write_to(const char *path)
{
	struct sink s;
	struct err err;

	assert_int_equal(sink_to_file(&s, path, sink_codec_of(path), &err), 0);
	fill(&s);
	assert_int_equal(access(path, F_OK), -1); /* not before it is complete */
	assert_int_equal(sink_finish(&s, &err), 0);
}

static void expect_lines(const char *text, size_t size)
{
	struct buf expected = { 0 };

	for (int i = 0; i < LINES; i++)
		buf_printf(&expected, "line %d\n", i);
	assert_int_equal(size, expected.size);
	assert_memory_equal(text, expected.data, size);
	buf_release(&expected);
}

static struct buf slurp(const char *path)
{
	struct buf b = { 0 };
	FILE *f = fopen(path, "r");
	char block[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_add(&b, block, n);
	fclose(f);
	return b;
}

static void plain(void **state)
{
	char *path = xasprintf("%s/out.txt", folder);
	struct buf b;

	write_to(path);
	b = slurp(path);
	expect_lines(b.data, b.size);
	assert_int_equal(entries(), 1);
	buf_release(&b);
	free(path);
}

static void gzipped(void **state)
{
	char *path = xasprintf("%s/out.gz", folder), *text = xmalloc(LINES * 16);
	gzFile f;
	int n;

	write_to(path);
	f = gzopen(path, "r");
	n = gzread(f, text, LINES * 16);
	expect_lines(text, (size_t)n);
	assert_int_equal(gzclose(f), Z_OK);
	free(text);
	free(path);
}

static void zstandard(void **state)
{
	char *path = xasprintf("%s/out.zst", folder), *text = xmalloc(LINES * 16);
	struct buf b;

	write_to(path);
	b = slurp(path);
	expect_lines(text, ZSTD_decompress(text, LINES * 16, b.data, b.size));
	buf_release(&b);
	free(text);
	free(path);
}

/* The same lines, most of them out of a text that is kept. */
static void fill_with_ropes(struct sink *s, const struct buf *source, const size_t *at)
{
	struct rope r = { 0 };
	int i = 0;

	buf_text(&s->buf, "line 0\nline 1\n"); /* before the rope */
	for (i = 2; i < LINES && !s->error;) {
		int many = i % 5 ? 1 + i % 3 : 1 + i % 4000,
		    end = i + many < LINES ? i + many : LINES;

		if (i % 4)
			buf_printf(&r.text, "line %d\n", i), i++;
		else
			rope_keep(&r, source->data + at[i], at[end] - at[i]), i = end;
		if (rope_size(&r) > SINK_BLOCK)
			sink_rope(s, &r);
	}
	sink_rope(s, &r);
	assert_int_equal(rope_size(&r), 0);
	rope_release(&r);
}

static int add_to(void *context, const void *bytes, size_t size)
{
	buf_add(context, bytes, size);
	return 0;
}

static void ropes(void **state)
{
	static const char *const names[] = { "out.txt", "out.gz", "out.zst" };
	struct buf source = { 0 }, b = { 0 };
	size_t *at = xcalloc(LINES + 1, sizeof(*at));
	char *text = xmalloc(LINES * 16);
	struct sink s;
	struct err err;

	for (int i = 0; i < LINES; i++) {
		at[i] = source.size;
		buf_printf(&source, "line %d\n", i);
	}
	at[LINES] = source.size;
	for (unsigned i = 0; i < 3; i++) {
		char *path = xasprintf("%s/%s", folder, names[i]);
		gzFile f;

		assert_int_equal(sink_to_file(&s, path, sink_codec_of(path), &err), 0);
		fill_with_ropes(&s, &source, at);
		assert_int_equal(sink_finish(&s, &err), 0);
		if (i < 2) { /* what is not packed is read as it is */
			f = gzopen(path, "r");
			expect_lines(text, (size_t)gzread(f, text, LINES * 16));
			assert_int_equal(gzclose(f), Z_OK);
		} else {
			b = slurp(path);
			expect_lines(text, ZSTD_decompress(text, LINES * 16, b.data, b.size));
			buf_release(&b);
		}
		free(path);
	}
	sink_to_function(&s, add_to, &b, SINK_PLAIN);
	fill_with_ropes(&s, &source, at);
	assert_int_equal(s.error, 0);
	assert_int_equal(sink_finish(&s, &err), 0);
	expect_lines(b.data, b.size);
	buf_release(&b);
	/* A full disk: one error, and an end. */
	sink_to_fd(&s, open("/dev/full", O_WRONLY | O_CLOEXEC), SINK_PLAIN);
	fill_with_ropes(&s, &source, at);
	assert_int_equal(s.error, -ENOSPC);
	close(s.fd);
	sink_cancel(&s);
	buf_release(&source);
	free(text);
	free(at);
}

/* An empty output is a valid file of its kind. */
static void empty(void **state)
{
	char *path = xasprintf("%s/out.gz", folder), c;
	struct sink s;
	struct err err;
	gzFile f;

	assert_int_equal(sink_to_file(&s, path, SINK_GZIP, &err), 0);
	assert_int_equal(sink_finish(&s, &err), 0);
	f = gzopen(path, "r");
	assert_int_equal(gzread(f, &c, 1), 0);
	assert_int_equal(gzclose(f), Z_OK);
	free(path);
}

static void cancelled(void **state)
{
	char *path = xasprintf("%s/out.txt", folder);
	struct sink s;
	struct err err;

	assert_int_equal(sink_to_file(&s, path, SINK_PLAIN, &err), 0);
	fill(&s);
	sink_cancel(&s);
	assert_int_equal(entries(), 0);
	free(path);
}

/* What was there before stays when the new one cannot be completed. */
static void full_disk(void **state)
{
	char *path = xasprintf("%s/out.txt", folder);
	struct rlimit old, small;
	struct sink s;
	struct err err;
	struct buf b;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(fd, "before", 6), 6);
	close(fd);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(sink_to_file(&s, path, SINK_PLAIN, &err), 0);
	fill(&s);
	assert_int_equal(s.error, -EFBIG);
	assert_int_equal(sink_finish(&s, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_non_null(strstr(err.text, "File too large"));
	b = slurp(path);
	assert_int_equal(b.size, 6);
	assert_int_equal(entries(), 1);
	buf_release(&b);
	free(path);
}

static void no_such_folder(void **state)
{
	struct sink s;
	struct err err;

	assert_int_equal(sink_to_file(&s, "/nowhere/at/all", SINK_PLAIN, &err), -ENOENT);
	assert_non_null(strstr(err.text, "No such file"));
}

static void device(void **state)
{
	struct sink s;
	struct err err;

	assert_int_equal(sink_to_file(&s, "/dev/full", SINK_PLAIN, &err), 0);
	fill(&s);
	assert_int_equal(sink_finish(&s, &err), -ENOSPC);
	assert_int_equal(access("/dev/full", F_OK), 0);
}

UNIT(sink)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(plain, setup, teardown),
		cmocka_unit_test_setup_teardown(gzipped, setup, teardown),
		cmocka_unit_test_setup_teardown(zstandard, setup, teardown),
		cmocka_unit_test_setup_teardown(ropes, setup, teardown),
		cmocka_unit_test_setup_teardown(empty, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk, setup, teardown),
		cmocka_unit_test(no_such_folder),
		cmocka_unit_test(device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
