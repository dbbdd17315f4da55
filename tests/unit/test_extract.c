/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rewrite/extract.c: embedded files come out as they were, and nowhere else, whatever they are
 * called. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "model/model.h"
#include "recording_writer.h"
#include "rewrite/extract.h"

static char top[64], *folder, *outside;

/* A file in one piece, or half of it. */
static void put_file(struct writer *w, uint64_t number, const char *path, size_t path_size,
		     const char *content, bool half)
{
	size_t size = strlen(content), held = half ? size / 2 : size;
	uint8_t head[5 * VARINT_MAX], *p = head;
	struct buf b = { 0 };

	p = varint_put(p, number);
	p = varint_put(p, size);
	p = varint_put(p, 0);
	p = varint_put(p, 0);
	p = varint_put(p, path_size);
	buf_add(&b, head, (size_t)(p - head));
	buf_add(&b, path, path_size);
	buf_add(&b, content, held);
	writer_chunk(w, CHUNK_FILE, b.data, b.size, 0);
	buf_release(&b);
}

static struct model *load(struct writer *w)
{
	struct model_options options = { .workers = 0 };
	struct model *m;
	struct err err;

	writer_end(w, true);
	assert_int_equal(model_open_memory(&m, w->out.data, w->out.size, &err), 0);
	model_load(m, &options);
	model_finish(m);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	return m;
}

/* Extracts one file of this name; returns where it went, or NULL and *ret_error. */
static char *extract(const char *path, size_t path_size, const char *content, int *ret_error)
{
	struct buf where = { 0 };
	struct extract x;
	struct writer w;
	struct model *m;
	struct err err;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	put_file(&w, 1, path, path_size, content, false);
	m = load(&w);
	assert_int_equal(extract_open(&x, m, folder, &err), 0);
	*ret_error = extract_file(&x, &m->tables.files[0], &where, &err);
	extract_release(&x);
	model_free(m);
	writer_release(&w);
	if (!*ret_error)
		return where.data;
	buf_release(&where);
	return NULL;
}

static void check_content(const char *where, const char *content)
{
	auto_free char *path = xasprintf("%s/%s", folder, where);
	char bytes[256] = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes) - 1), strlen(content));
	assert_string_equal(bytes, content);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0111, 0);
	close(fd);
}

static void names(void **context)
{
	static const struct {
		const char *path, *where;
	} rows[] = {
		{ "/usr/lib/x.so", "usr/lib/x.so" },
		{ "relative/y", "relative/y" },
		{ "../outside/a", "__/outside/a" },
		{ "/../../outside/b", "__/__/outside/b" },
		{ "a/../../c", "a/__/__/c" },
		{ "./d/.", "_/d/_" },
		{ "..", "__.000" }, /* "__" is a folder by now */
		{ "", "unnamed" },
		{ "///", "unnamed.000" },
		{ "usr//lib///x.so", "usr/lib/x.so.000" },
		{ "usr/lib/x.so", "usr/lib/x.so.001" },
		{ "usr/lib/x.so/inside", "usr/lib/x.so.002/inside" },
		{ "usr", "usr.000" },
		{ "link/e", "link.000/e" },
		{ "dangling", "dangling.000" },
		{ "tofile", "tofile.000" },
	};
	auto_free char *link = xasprintf("%s/link", folder);
	auto_free char *dangling = xasprintf("%s/dangling", folder);
	auto_free char *tofile = xasprintf("%s/tofile", folder);
	auto_free char *victim = xasprintf("%s/victim", outside);
	struct stat st;
	int fd = open(victim, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(symlink("/proc/nonexistent/anything", dangling), 0);
	assert_int_equal(symlink(victim, tofile), 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error;
		auto_free char *where =
			extract(rows[i].path, strlen(rows[i].path), "content", &error);

		assert_int_equal(error, 0);
		assert_string_equal(where, rows[i].where);
		check_content(where, "content");
	}
	/* Nothing came to what the links point at. */
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void strange_names(void **context)
{
	auto_free char *large = xmalloc(5000);
	auto_free char *where = NULL, *again = NULL, *deep = NULL;
	int error;

	memset(large, 'n', 5000);
	where = extract(large, 5000, "long", &error);
	assert_int_equal(error, 0);
	assert_true(strlen(where) <= 255);
	check_content(where, "long");
	again = extract(large, 5000, "long too", &error);
	assert_int_equal(error, 0);
	assert_string_not_equal(where, again);
	check_content(again, "long too");
	/* A NUL ends it, as it does for everybody else. */
	deep = extract("nul\0/../../x", 12, "nul", &error);
	assert_int_equal(error, 0);
	assert_string_equal(deep, "nul");
}

/* Deeper than a path may be: each part is opened by itself. */
static void deep_names(void **context)
{
	auto_free char *path = xmalloc(9001);
	char *where;
	int error;

	for (unsigned i = 0; i < 9000; i += 90) {
		memset(path + i, 'd', 89);
		path[i + 89] = '/';
	}
	path[8999] = 'f';
	path[9000] = 0;
	where = extract(path, 9000, "deep", &error);
	assert_int_equal(error, 0);
	free(where);
}

static void missing_pieces(void **context)
{
	struct buf where = { 0 };
	struct extract x;
	struct writer w;
	struct model *m;
	struct err err;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	put_file(&w, 1, "half", 4, "0123456789", true);
	m = load(&w);
	assert_int_equal(extract_open(&x, m, folder, &err), 0);
	assert_int_equal(extract_file(&x, &m->tables.files[0], &where, &err), -ENODATA);
	assert_int_equal(faccessat(x.folder, "half", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	extract_release(&x);
	model_free(m);
	writer_release(&w);
	buf_release(&where);
}

static int make_folders(void **context)
{
	strcpy(top, "/tmp/memoir-test-extract-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	folder = xasprintf("%s/folder", top);
	outside = xasprintf("%s/outside", top);
	return mkdir(outside, 0700);
}

static int remove_folders(void **context)
{
	auto_free char *victim = xasprintf("%s/victim", outside);
	/* Only what the test put there may be outside, or nothing can be removed. */
	int error = remove(victim) || rmdir(outside);

	/* Some paths are longer than a path may be: rm copes with that. */
	auto_free char *command = xasprintf("rm -rf '%s'", top);

	error |= system(command);
	free(folder);
	free(outside);
	return error;
}

UNIT(extract)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(strange_names),
		cmocka_unit_test(deep_names),
		cmocka_unit_test(missing_pieces),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
