/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* model/locations: which nodes are at one location, and what a location is called, from many
 * threads. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "model/locations_internal.h"
#include "recording_writer.h"
#include "self.h"
#include "wire/shm.h"

#define THREADS 4

static struct self self;

static int set_up(void **context)
{
	return self_find(&self);
}

static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uint64_t)__builtin_return_address(0);
}

static int inner_line;
static inline __attribute__((always_inline)) uint64_t inlined_call(void)
{
	uint64_t pc = return_address();

	inner_line = __LINE__ - 2;
	__asm__ volatile("" ::: "memory");
	return pc;
}

static __attribute__((noinline)) uint64_t outer_call(void)
{
	uint64_t pc = inlined_call();

	__asm__ volatile("" ::: "memory");
	return pc;
}

/* 1: a call; 2: the same, from elsewhere; 3: the exact address of the same location; 4: of another;
 * 5: in no module; 6: in a module that the recording does not name. */
static void write_recording(struct writer *w, const char *path)
{
	uint64_t pc = outer_call();
	struct writer_node nodes[] = {
		{ 0, pc, 1, 0 },
		{ 1, pc, 1, 0 },
		{ 2, pc - 1, 1, NODE_EXACT },
		{ 3, (uint64_t)set_up, 1, NODE_EXACT },
		{ 4, 0x5001, 0, 0 },
		{ 5, 0x6001, 9, 0 },
	};

	writer_init(w, -1);
	writer_header(w, FORMAT_VERSION);
	writer_module(w, 1, self.bias, self.bias, self.bias + (1 << 24), self.build_id,
		      self.build_id_size, path);
	writer_nodes(w, 1, nodes, sizeof(nodes) / sizeof(*nodes));
	writer_end(w, true);
}

static struct model *finish(struct model *m)
{
	struct model_options options = { 0 };

	model_load(m, &options);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	model_finish(m);
	return m;
}

static struct model *load(struct writer *w)
{
	struct model *m;
	struct err err;

	write_recording(w, self.path);
	assert_int_equal(model_open_memory(&m, w->out.data, w->out.size, &err), 0);
	return finish(m);
}

static void check_call(struct locations *p, uint32_t location)
{
	unsigned count;
	const struct location_frame *f = locations_frames(p, location, &count);

	assert_int_equal(count, 2);
	assert_string_equal(locations_string(p, f[0].function), "inlined_call");
	assert_string_equal(locations_string(p, f[0].raw_function), "inlined_call");
	assert_non_null(strstr(locations_string(p, f[0].file), "test_locations.c"));
	assert_int_equal(f[0].line, inner_line);
	assert_true(f[0].column > 0);
	assert_true(f[0].inlined);
	assert_string_equal(locations_string(p, f[1].function), "outer_call");
	assert_int_equal(f[0].file, f[1].file);
	assert_false(f[1].inlined);
}

static void locations_of_nodes(void **context)
{
	struct writer w;
	struct model *m = load(&w);
	struct locations *p = locations_new(m, NULL);
	const struct location_frame *f;
	unsigned count;

	assert_int_equal(locations_count(p), 5);
	assert_int_equal(locations_of_node(p, 0), 0);
	assert_int_equal(locations_of_node(p, 7), 0);
	assert_int_equal(locations_of_node(p, UINT32_MAX), 0);
	assert_int_equal(locations_of_node(p, 1), locations_of_node(p, 2));
	assert_int_equal(locations_of_node(p, 1), locations_of_node(p, 3));
	assert_int_not_equal(locations_of_node(p, 1), locations_of_node(p, 4));
	check_call(p, locations_of_node(p, 1));
	f = locations_frames(p, locations_of_node(p, 4), &count);
	assert_int_equal(count, 1);
	assert_string_equal(locations_string(p, f->function), "set_up");
	assert_int_equal(locations_at(p, locations_of_node(p, 4))->module, 1);
	assert_string_equal(locations_module_path(p, 1), self.path);
	assert_int_equal(locations_level(p, 1), SYMBOLS_LINES);
	locations_free(p);
	model_free(m);
	writer_release(&w);
}

static void what_is_not_known(void **context)
{
	struct writer w;
	struct model *m = load(&w);
	struct locations *p = locations_new(m, NULL);
	const struct location_frame *f;
	unsigned count;

	for (uint32_t node = 5; node <= 6; node++) {
		const struct location *at = locations_at(p, locations_of_node(p, node));

		assert_int_equal(at->module, 0);
		assert_int_equal(at->address, node * 0x1000);
		f = locations_frames(p, locations_of_node(p, node), &count);
		assert_int_equal(count, 1);
		assert_int_equal(f->function, 0);
		assert_int_equal(f->file, 0);
	}
	f = locations_frames(p, 4242, &count);
	assert_int_equal(count, 1);
	assert_int_equal(f->function, 0);
	assert_string_equal(locations_string(p, 0), "");
	assert_string_equal(locations_string(p, UINT32_MAX), "");
	assert_string_equal(locations_module_path(p, 0), "");
	assert_string_equal(locations_module_path(p, 9), "");
	assert_int_equal(locations_level(p, 9), SYMBOLS_NONE);
	assert_string_equal(locations_call(p, CALL_malloc), "malloc");
	assert_string_equal(locations_call(p, 127), "(unknown call)");
	locations_free(p);
	model_free(m);
	writer_release(&w);
}

static unsigned told;

static void tell(void *context, uint64_t done, uint64_t total)
{
	assert_true(done <= total);
	told++;
}

static void all_at_once(void **context)
{
	struct writer w;
	struct model *m = load(&w);
	struct locations_options options = { .progress = tell };
	struct locations *p = locations_new(m, &options);
	uint32_t strings;

	told = 0;
	locations_resolve_all(p);
	assert_true(told > 0);
	strings = locations_string_count(p);
	check_call(p, locations_of_node(p, 3));
	assert_int_equal(locations_string_count(p), strings);
	locations_free(p);
	model_free(m);
	writer_release(&w);
}

static void *ask(void *context)
{
	struct locations *p = context;

	for (uint32_t i = 0; i < locations_count(p); i++) {
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		if (!count || locations_frames(p, i, &count) != f)
			return p;
		for (unsigned k = 0; k < count; k++)
			if (f[k].function && !*locations_string(p, f[k].function))
				return p;
	}
	return NULL;
}

static void from_many_threads(void **context)
{
	struct writer w;
	struct model *m = load(&w);

	for (unsigned round = 0; round < 8; round++) {
		struct locations *p = locations_new(m, NULL);
		pthread_t threads[THREADS];

		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, ask, p), 0);
		for (unsigned i = 0; i < THREADS; i++) {
			void *wrong;

			pthread_join(threads[i], &wrong);
			assert_null(wrong);
		}
		check_call(p, locations_of_node(p, 1));
		locations_free(p);
	}
	model_free(m);
	writer_release(&w);
}

/* A folder with a recording, a copy of this program that it is about, and the cache. */
struct folder {
	char root[64], recording[80], program[80], cache[80];
	struct cache_options options;
};

static void put(const char *path, const void *bytes, size_t size)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
}

static void get(const char *path, struct buf *out)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	do {
		buf_reserve(out, 65536);
		n = read(fd, out->data + out->size, 65536);
		out->size += n > 0 ? (size_t)n : 0;
	} while (n > 0);
}

static void make_folder(struct folder *f)
{
	struct buf program = { 0 };
	struct writer w;

	memset(f, 0, sizeof(*f));
	strcpy(f->root, "/tmp/memoir-test-places-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->recording, sizeof(f->recording), "%s/app.dat", f->root);
	snprintf(f->program, sizeof(f->program), "%s/program", f->root);
	snprintf(f->cache, sizeof(f->cache), "%s/cache", f->root);
	f->options = (struct cache_options){ .dir = f->cache, .limit = UINT64_MAX };
	get(self.path, &program);
	put(f->program, program.data, program.size);
	buf_release(&program);
	write_recording(&w, f->program);
	put(f->recording, w.out.data, w.out.size);
	writer_release(&w);
}

/* The one cached file's path; how many there are. */
static unsigned cached_files(const struct folder *f, char *ret_path)
{
	DIR *dir = opendir(f->cache);
	struct dirent *e;
	unsigned count = 0;

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".places")) {
			snprintf(ret_path, 400, "%s/%s", f->cache, e->d_name);
			count++;
		}
	if (dir)
		closedir(dir);
	return count;
}

static void remove_folder(const struct folder *f)
{
	char path[400];

	while (cached_files(f, path))
		unlink(path);
	rmdir(f->cache);
	unlink(f->program);
	unlink(f->recording);
	assert_int_equal(rmdir(f->root), 0);
}

/* How many locations came from the cache; all are resolved and right in the end. */
static uint32_t through_cache(const struct folder *f, const char *debug_path)
{
	struct locations_options options = { .cache = &f->options,
					     .debug_paths = &debug_path,
					     .debug_path_count = debug_path != NULL };
	struct locations *p;
	struct model *m;
	struct err err;
	uint32_t loaded;

	assert_int_equal(model_open(&m, f->recording, &err), 0);
	finish(m);
	p = locations_new(m, &options);
	assert_non_null(p->cache);
	loaded = p->cache->loaded;
	locations_resolve_all(p);
	check_call(p, locations_of_node(p, 1));
	locations_free(p);
	model_free(m);
	return loaded;
}

static void names_are_cached(void **context)
{
	struct folder f;
	char path[400];
	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	make_folder(&f);
	assert_int_equal(through_cache(&f, NULL), 0);
	assert_int_equal(cached_files(&f, path), 1);
	assert_int_equal(through_cache(&f, NULL), 4);
	/* Other folders to look in, other results. */
	assert_int_equal(through_cache(&f, f.root), 0);
	assert_int_equal(cached_files(&f, path), 2);
	assert_int_equal(through_cache(&f, f.root), 4);
	/* The program was touched: what was in it is asked for again, what is in none is not. */
	assert_int_equal(utimensat(AT_FDCWD, f.program, times, 0), 0);
	assert_int_equal(through_cache(&f, NULL), 2);
	assert_int_equal(through_cache(&f, NULL), 4);
	remove_folder(&f);
}

static void damaged_caches_are_not_used(void **context)
{
	struct folder f;
	char path[400];
	struct buf whole = { 0 };

	make_folder(&f);
	through_cache(&f, NULL);
	assert_int_equal(cached_files(&f, path), 1);
	get(path, &whole);
	for (size_t i = 0; i < whole.size; i += 1 + whole.size / 60) {
		whole.data[i] ^= 0x41;
		assert_int_equal(unlink(path), 0);
		put(path, whole.data, whole.size);
		assert_int_equal(chmod(path, 0600), 0);
		/* The reserved word means nothing. */
		assert_true(through_cache(&f, NULL) == 0 || (i >= 28 && i < 32));
		whole.data[i] ^= 0x41;
	}
	for (size_t size = 0; size < whole.size; size += 1 + whole.size / 20) {
		assert_int_equal(unlink(path), 0);
		put(path, whole.data, size);
		assert_int_equal(chmod(path, 0600), 0);
		assert_int_equal(through_cache(&f, NULL), 0);
	}
	buf_release(&whole);
	remove_folder(&f);
}

UNIT(locations)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(locations_of_nodes), cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(all_at_once),	      cmocka_unit_test(from_many_threads),
		cmocka_unit_test(names_are_cached),   cmocka_unit_test(damaged_caches_are_not_used),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
