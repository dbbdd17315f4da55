/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The cache of names of dumps: what was kept is found again, and a file that is damaged, or
 * another's, is as good as none. */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/xalloc.h"
#include "heap/heap_cache.h"
#include "unit.h"

#define HEAD 48 /* bytes; the last 8 are the sum */
#define STAMP 0x1234

static char folder[64];
static struct cache_options options = { .dir = folder, .limit = UINT64_MAX };

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/memoir-heap-cache-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

/* The one file that is there. */
static char *only_file(void)
{
	auto_free char *pattern = xasprintf("%s/*", folder);
	char *path = NULL;
	glob_t g;

	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 1);
	path = xstrdup(g.gl_pathv[0]);
	globfree(&g);
	return path;
}

static int remove_folder(void **state)
{
	auto_free char *pattern = xasprintf("%s/*", folder);
	glob_t g;

	if (!glob(pattern, 0, NULL, &g)) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			unlink(g.gl_pathv[i]);
		globfree(&g);
	}
	return rmdir(folder);
}

static void add(uint64_t stamp, uint64_t address, const char *given, unsigned frames)
{
	char name[16], file[] = "a.c", outer[] = "outer";
	struct symbol_frame list[3] = { { name, name, file, 7, 3, true }, { outer, NULL, NULL } };
	struct symbol s = { list, frames };
	struct heap_cache *c = heap_cache_open(&options, stamp);

	assert_non_null(c);
	snprintf(name, sizeof(name), "%s", given);
	heap_cache_add(c, address, &s);
	heap_cache_close(c);
}

static bool find(uint64_t stamp, uint64_t address, struct symbol *ret)
{
	struct heap_cache *c = heap_cache_open(&options, stamp);
	bool found = heap_cache_find(c, address, ret);

	heap_cache_close(c);
	return found;
}

static void is_kept(void **state)
{
	struct symbol s;

	assert_false(find(STAMP, 16, &s));
	add(STAMP, 16, "first", 2);
	add(STAMP, 8, "second", 1);
	add(STAMP, 24, "third", 3);
	assert_true(find(STAMP, 16, &s));
	assert_int_equal(s.count, 2);
	assert_string_equal(s.frames[0].function, "first");
	assert_string_equal(s.frames[0].file, "a.c");
	assert_int_equal(s.frames[0].line, 7);
	assert_true(s.frames[0].inlined);
	assert_string_equal(s.frames[1].function, "outer");
	assert_null(s.frames[1].file);
	symbol_release(&s);
	add(STAMP, 16, "renamed", 1);
	assert_true(find(STAMP, 16, &s));
	assert_string_equal(s.frames[0].function, "renamed");
	symbol_release(&s);
	for (uint64_t address = 8; address <= 24; address += 8) {
		assert_true(find(STAMP, address, &s));
		symbol_release(&s);
	}
	assert_false(find(STAMP, 9, &s));
	assert_false(find(STAMP + 1, 16, &s)); /* the module's files were others */
}

static void nothing_to_be_known_by(void **state)
{
	assert_null(heap_cache_open(NULL, 1));
	assert_null(heap_cache_open(&(struct cache_options){ 0 }, 1));
	assert_null(heap_cache_open(&options, 0));
	assert_null(heap_cache_close(NULL));
}

static void put(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* With a sum that is right, so that the rest is looked at. */
static void damage_is_seen(void **state)
{
	auto_free char *path = NULL;
	uint8_t bytes[4096], copy[sizeof(bytes)];
	struct symbol s;
	size_t size;
	int fd;

	add(STAMP, 8, "one", 3);
	add(STAMP, 16, "two", 2);
	path = only_file();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = (size_t)read(fd, bytes, sizeof(bytes));
	close(fd);
	assert_in_range(size, HEAD + 1, sizeof(bytes) - 1);
	for (size_t i = 0; i < size * 3; i++) {
		static const uint8_t values[] = { 0, 1, 0xff };
		struct heap_cache *c;
		uint64_t sum;

		memcpy(copy, bytes, size);
		copy[i / 3] = values[i % 3];
		sum = XXH3_64bits(copy + HEAD, size - HEAD);
		memcpy(copy + HEAD - sizeof(sum), &sum, sizeof(sum));
		put(path, copy, size - i % 2);
		c = heap_cache_open(&options, STAMP);
		for (uint64_t address = 8; address <= 16; address += 8)
			if (heap_cache_find(c, address, &s)) {
				assert_in_range(s.count, 1, 5);
				symbol_release(&s);
			}
		heap_cache_close(c);
	}
	bytes[size - 3] ^= 1; /* and with one that is not */
	put(path, bytes, size);
	assert_false(find(STAMP, 8, &s));
}

UNIT(heap_cache)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_kept, make_folder, remove_folder),
		cmocka_unit_test(nothing_to_be_known_by),
		cmocka_unit_test_setup_teardown(damage_is_seen, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
