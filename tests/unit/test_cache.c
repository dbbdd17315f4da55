/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cached recordings: the same as loaded ones, whatever happens to the file, the folder or the one
 * who makes it. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/cache.h"
#include "model/cache_format.h"
#include "model/stats.h"
#include "recording_writer.h"
#include "whole_recording.h"

static char root[] = "/tmp/memoir-test-cache-XXXXXX";
static char cache_path[64], path[64];
static struct cache_options options;

static struct model *open_with(const struct cache_options *o)
{
	struct model_options how = { .workers = 1 };
	struct model *m;
	struct err err;

	assert_int_equal(model_open_cached(&m, path, o, &err), 0);
	model_load(m, &how);
	model_finish(m);
	return m;
}

/* Is it found in the cache, before anything is loaded? */
static bool is_cached(void)
{
	struct model *m;
	struct err err;
	bool found;

	assert_int_equal(model_open_cached(&m, path, &options, &err), 0);
	found = !m->loader;
	model_free(m);
	return found;
}

/* Opens it and compares with what loading gives. */
static void check_same(bool expect_cached)
{
	struct model *fresh = open_with(NULL), *m;

	assert_int_equal(is_cached(), expect_cached);
	m = open_with(&options);
	same_models(fresh, m);
	model_free(m);
	model_free(fresh);
}

static unsigned count_files(const char *part)
{
	DIR *stream = opendir(cache_path);
	struct dirent *e;
	unsigned count = 0;

	while (stream && (e = readdir(stream)))
		count += strstr(e->d_name, part) != NULL;
	if (stream)
		closedir(stream);
	return count;
}

/* The path of the only file in the cache. */
static const char *only_file(void)
{
	static char found[512];
	DIR *stream = opendir(cache_path);
	struct dirent *e;

	assert_int_equal(count_files(".columns"), 1);
	while ((e = readdir(stream)))
		if (strstr(e->d_name, ".columns"))
			snprintf(found, sizeof(found), "%s/%s", cache_path, e->d_name);
	closedir(stream);
	return found;
}

static void remove_all(const char *dir)
{
	DIR *stream = opendir(dir);
	struct dirent *e;

	while (stream && (e = readdir(stream)))
		unlinkat(dirfd(stream), e->d_name, 0);
	if (stream)
		closedir(stream);
	rmdir(dir);
}

static int setup(void **context)
{
	remove_all(cache_path);
	options = (struct cache_options){ .dir = cache_path, .limit = UINT64_MAX };
	return 0;
}

static void cached_is_the_same(void **context)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		whole_recording(path, seed, (uint32_t)seed * 37, seed % 5 != 0);
		check_same(false);
		check_same(true);
		check_same(true);
	}
}

static void nothing_at_all(void **context)
{
	struct writer w;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	writer_init(&w, fd);
	writer_header(&w, FORMAT_VERSION);
	writer_end(&w, true);
	writer_release(&w);
	close(fd);
	check_same(false);
	check_same(true);
}

/* What the random ones must have had at least once, or the comparison says nothing. */
static void random_ones_hold_everything(void **context)
{
	size_t markers = 0, removed = 0, files = 0, chains = 0, slacks = 0, whole = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct model *m;

		whole_recording(path, seed, (uint32_t)seed * 37, true);
		m = open_with(NULL);
		assert_int_equal(m->loss.kind, LOSS_NONE);
		markers += m->tables.markers.count;
		removed += m->tables.removed.count;
		files += m->tables.file_count;
		chains += m->chain_count;
		slacks += m->allocations.large_slacks.count;
		whole += m->peak_is_whole;
		model_free(m);
	}
	assert_true(markers && removed && files && chains && slacks && whole);
}

/* Sums that were made on several cores, against the plain definition. */
static void sums_are_right(void **context)
{
	struct model *m;
	const struct columns *c;
	struct stack_sums sums;
	struct stack_sum plain[256] = { 0 };
	uint64_t before = 0;

	whole_recording(path, 31, 900000, true);
	m = open_with(NULL);
	c = &m->allocations;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t stack = columns_stack(c, i);
		struct stack_sum *s = &plain[node_is_known(&m->tables.nodes, stack) ? stack : 0];

		if (!s->count++) {
			s->call = tags_call(columns_tags(c, i));
			s->first_at = columns_allocated_at(c, i);
		}
		s->bytes += columns_size(c, i);
		if (columns_freed_at(c, i) == NEVER)
			s->leaked_bytes += columns_size(c, i);
		if (tags_flags(columns_tags(c, i)) & TAG_TEMPORARY)
			s->temporary++;
	}
	stats_sum_stacks(m, &sums);
	for (uint32_t i = 0; i < sums.count; i++) {
		const struct stack_sum *s = &sums.rows[i], *p = &plain[s->stack];
		const struct statistics *r = removed_find(&m->tables.removed, s->stack);

		/* What was removed stands behind the others when no row has its stack. */
		if (p->count) {
			assert_true(s->first_at <= p->first_at);
			assert_int_equal(s->leaked_bytes, p->leaked_bytes);
		}
		if (r || !s->stack)
			continue;
		assert_int_equal(s->count, p->count);
		assert_int_equal(s->bytes, p->bytes);
		assert_int_equal(s->call, p->call);
		assert_int_equal(s->temporary, p->temporary);
		assert_true(s->first_at >= before);
		before = s->first_at;
	}
	assert_in_range(sums.count, 50, 256);
	stack_sums_release(&sums);
	model_free(m);
}

/* So many rows that they are in the file from the beginning, in several groups. */
static void many_rows(void **context)
{
	struct model *m;

	unsetenv("MEMOIR_PACK_EVENTS"); /* about plain rows */
	whole_recording(path, 77, 900000, true);
	m = open_with(&options);
	assert_in_range(m->allocations.file->group_count, 8, COLUMNS_GROUPS);
	assert_true(m->chains_offset > 0);
	model_free(m);
	check_same(true);
	assert_int_equal(count_files(""), 3); /* itself, . and .. */
}

/* The file keeps no more of the last group than was used. */
static void room_is_given_back(void **context)
{
	struct stat st;
	struct model *m;

	unsetenv("MEMOIR_PACK_EVENTS"); /* about plain rows */
	whole_recording(path, 78, 400000, true);
	m = open_with(&options);
	assert_int_equal(stat(only_file(), &st), 0);
	assert_in_range((uint64_t)st.st_blocks * 512, (uint64_t)m->allocations.count * 60,
			(uint64_t)m->allocations.count * 64 + (4u << 20));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(cache_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	model_free(m);
}

/* Without a cache many rows are in a file that has no name. */
static void spills_without_cache(void **context)
{
	struct model *m, *cached;

	whole_recording(path, 79, 2700000, true);
	m = open_with(NULL);
	assert_true(m->allocations.count > 1u << 20);
	assert_non_null(m->allocations.file);
	assert_int_equal(count_files(""), 0);
	cached = open_with(&options);
	same_models(m, cached);
	model_free(cached);
	model_free(m);
}

/* The disk (here: a limit) has no room for more: the rows go back to memory. */
static void full_disk(void **context)
{
	struct model *fresh, *m;
	struct rlimit before, small;

	unsetenv("MEMOIR_PACK_EVENTS"); /* about plain rows */
	whole_recording(path, 80, 900000, true);
	fresh = open_with(NULL);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 8u << 20;
	setrlimit(RLIMIT_FSIZE, &small);
	m = open_with(&options);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_null(m->allocations.file);
	same_models(fresh, m);
	model_free(m);
	assert_int_equal(count_files(".columns"), 0);
	small.rlim_cur = 4096; /* not even the beginning */
	setrlimit(RLIMIT_FSIZE, &small);
	m = open_with(&options);
	setrlimit(RLIMIT_FSIZE, &before);
	same_models(fresh, m);
	model_free(m);
	model_free(fresh);
	assert_int_equal(count_files(".columns"), 0);
}

static bool maps(const char *file)
{
	struct model *m = xcalloc(1, sizeof(*m));
	bool fine;

	m->reader.fd = -1;
	fine = cache_map(m, open(file, O_RDONLY | O_CLOEXEC), NULL);
	model_free(m);
	return fine;
}

static void flip(int fd, uint64_t offset, uint8_t with)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= with;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
}

/* Every byte of the header and of the tables. */
static void damage_is_seen(void **context)
{
	struct cache_header h;
	const char *file;
	int fd;

	whole_recording(path, 5, 300, true);
	check_same(false);
	file = only_file();
	fd = open(file, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	assert_true(maps(file));
	for (uint64_t i = 0; i < offsetof(struct cache_header, sealed); i++) {
		flip(fd, i, 1u << i % 8);
		assert_false(maps(file));
		flip(fd, i, 1u << i % 8);
	}
	for (uint64_t i = 0; i < h.sections[CACHE_TABLES].size; i++) {
		uint64_t at = h.sections[CACHE_TABLES].offset + i;

		flip(fd, at, 1u << i % 8);
		assert_false(maps(file));
		flip(fd, at, 1u << i % 8);
	}
	assert_true(maps(file));
	/* Cut and extended. */
	assert_int_equal(ftruncate(fd, (off_t)h.file_size - 1), 0);
	assert_false(maps(file));
	assert_int_equal(ftruncate(fd, (off_t)h.file_size + 1), 0);
	assert_false(maps(file));
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_false(maps(file));
	close(fd);
	/* And what is not to be used is made again, without a word. */
	check_same(false);
	check_same(true);
}

/* Indices in columns, nodes and chains that lead nowhere, with all sums right. */
static void wild_indices_are_seen(void **context)
{
	struct cache_header h;
	struct columns_group *g = h.groups;
	const char *file;
	int fd;
	uint64_t before = 0;

	whole_recording(path, 6, 3000, true);
	check_same(false);
	file = only_file();
	fd = open(file, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
#define X(type, name)                                                                              \
	if (!strcmp(#name, "tags") || !strcmp(#name, "previous") || !strcmp(#name, "chain")) {     \
		uint64_t row = 3, at = g->offset + g->count * before + row * sizeof(type);         \
		type old, wild = (type)0x3ffffffffffffffe;                                         \
                                                                                                   \
		assert_int_equal(pread(fd, &old, sizeof(old), (off_t)at), sizeof(old));            \
		assert_int_equal(pwrite(fd, &wild, sizeof(wild), (off_t)at), sizeof(wild));        \
		assert_false(maps(file));                                                          \
		assert_int_equal(pwrite(fd, &old, sizeof(old), (off_t)at), sizeof(old));           \
		assert_true(maps(file));                                                           \
	}                                                                                          \
	before += sizeof(type);
	COLUMNS(X)
#undef X
	assert_true(h.sections[CACHE_CHAINS].size > 0);
	flip(fd, h.sections[CACHE_CHAINS].offset + 3, 0x40);
	assert_false(maps(file));
	flip(fd, h.sections[CACHE_CHAINS].offset + 3, 0x40);
	flip(fd, h.sections[CACHE_PARENTS].offset + h.sections[CACHE_PARENTS].size - 1, 0x40);
	assert_false(maps(file));
	flip(fd, h.sections[CACHE_PARENTS].offset + h.sections[CACHE_PARENTS].size - 1, 0x40);
	flip(fd, h.sections[CACHE_SUMS].offset + 3, 0x40);
	assert_false(maps(file));
	flip(fd, h.sections[CACHE_SUMS].offset + 3, 0x40);
	assert_true(maps(file));
	close(fd);
}

/* The system went down while the file was on its way to the disk, or after. */
static void crash_of_the_system(void **context)
{
	struct cache_header h;
	int fd;

	whole_recording(path, 7, 300, true);
	check_same(false);
	fd = open(only_file(), O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(h.sealed, 0);
	h.boot[3] ^= 1;
	h.built_at -= 3600;
	h.sum = cache_header_sum(&h);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_false(maps(only_file()));
	h.sealed = CACHE_SEALED;
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_true(maps(only_file()));
	/* Old enough to be on the disk: then it is made sure, and marked. */
	h.boot[3] ^= 1;
	h.sealed = 0;
	h.sum = cache_header_sum(&h);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_true(is_cached());
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(h.sealed, CACHE_SEALED);
	close(fd);
}

static void two_at_once(void **context)
{
	struct model *first, *second, *fresh;
	struct err err;
	pid_t children[4];
	int status;

	whole_recording(path, 8, 400000, true);
	for (unsigned i = 0; i < 4; i++) {
		children[i] = fork();
		if (!children[i]) {
			struct model *m = open_with(&options);

			_exit(m->allocations.count > 1000 ? 0 : 1);
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count_files(".columns"), 1);
	assert_int_equal(count_files(".tmp"), 0);
	check_same(true);

	/* The one who comes second takes the file of the first. */
	remove_all(cache_path);
	assert_int_equal(model_open_cached(&second, path, &options, &err), 0);
	model_load(second, &(struct model_options){ 0 });
	first = open_with(&options);
	model_finish(second);
	assert_int_equal(count_files(".columns"), 1);
	{
		struct stat a, b;

		assert_int_equal(fstat(first->allocations.file->fd, &a), 0);
		assert_int_equal(fstat(second->allocations.file->fd, &b), 0);
		assert_int_equal(a.st_ino, b.st_ino);
	}
	fresh = open_with(NULL);
	same_models(fresh, second);
	same_models(fresh, first);
	model_free(fresh);
	model_free(first);
	model_free(second);
}

static void killed_builder(void **context)
{
	int channel[2], status;
	char byte;
	pid_t child;

	whole_recording(path, 9, 900000, true);
	assert_int_equal(pipe(channel), 0);
	child = fork();
	if (!child) {
		struct model *m;
		struct err err;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (model_open_cached(&m, path, &options, &err))
			_exit(1);
		model_load(m, &(struct model_options){ 0 });
		(void)!write(channel[1], "x", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(channel[0], &byte, 1), 1);
	assert_int_equal(count_files(".columns.tmp-"), 1);
	/* Who lives is let alone. */
	check_same(false);
	assert_int_equal(count_files(".columns.tmp-"), 1);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(count_files(".columns"), 2);
	whole_recording(path, 10, 300, true);
	check_same(false);
	assert_int_equal(count_files(".columns.tmp-"), 0);
	assert_int_equal(count_files(".columns"), 2);
	close(channel[0]);
	close(channel[1]);
}

/* The one that was not used for longest goes first. */
static void oldest_goes_first(void **context)
{
	char paths[4][96];
	uint64_t size = 0;

	for (unsigned i = 0; i < 4; i++) {
		struct stat st;
		struct timespec used[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };

		if (i == 3) {
			/* Room for three.  The first was used just now, so the second goes. */
			whole_recording(path, 20, 3000, true);
			utimensat(AT_FDCWD, path, (struct timespec[]){ { 5, 0 }, { 5, 0 } }, 0);
			assert_true(is_cached());
			options.limit = size * 3 + size / 2;
		}
		whole_recording(path, 20 + i, 3000, true);
		utimensat(AT_FDCWD, path, (struct timespec[]){ { 5, 0 }, { 5, 0 } }, 0);
		model_free(open_with(&options));
		if (i == 0) {
			assert_int_equal(stat(only_file(), &st), 0);
			size = (uint64_t)st.st_blocks * 512;
		}
		snprintf(paths[i], sizeof(paths[i]), "%s/%02x00000000000000", cache_path, 20 + i);
		{
			DIR *stream = opendir(cache_path);
			struct dirent *e;

			while ((e = readdir(stream)))
				if (!strncmp(e->d_name, strrchr(paths[i], '/') + 1, 16))
					utimensat(dirfd(stream), e->d_name, used, 0);
			closedir(stream);
		}
	}
	assert_int_equal(count_files("1400000000000000"), 1);
	assert_int_equal(count_files("1500000000000000"), 0);
	assert_int_equal(count_files("1600000000000000"), 1);
	assert_int_equal(count_files("1700000000000000"), 1);
	/* A mapped one that is removed stays readable. */
	{
		struct model *m = open_with(&options);

		remove_all(cache_path);
		assert_true(m->allocations.count > 0);
		assert_true(columns_allocated_at(&m->allocations, m->allocations.count - 1) > 0);
		model_free(m);
	}
}

static void larger_than_the_limit(void **context)
{
	whole_recording(path, 11, 3000, true);
	options.limit = 4096;
	check_same(false);
	check_same(false);
	assert_int_equal(count_files(".columns"), 0);
}

static void folders_that_cannot_be_used(void **context)
{
	char nowhere[96];
	int fd;

	whole_recording(path, 12, 300, true);
	snprintf(nowhere, sizeof(nowhere), "/proc/1/memoir"); /* nobody may make that */
	options.dir = nowhere;
	check_same(false);
	check_same(false);
	snprintf(nowhere, sizeof(nowhere), "%s/file", root);
	fd = open(nowhere, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	options.dir = nowhere; /* no folder */
	check_same(false);
	unlink(nowhere);
	/* Others may write to it. */
	options.dir = cache_path;
	assert_int_equal(mkdir(cache_path, 0700), 0);
	assert_int_equal(chmod(cache_path, 0777), 0);
	check_same(false);
	check_same(false);
	assert_int_equal(count_files(".columns"), 0);
	assert_int_equal(chmod(cache_path, 0700), 0);
	check_same(false);
	check_same(true);
	/* A file that others may write to. */
	assert_int_equal(chmod(only_file(), 0666), 0);
	check_same(false);
	check_same(true);
	/* A link in its place is not followed. */
	snprintf(nowhere, sizeof(nowhere), "%s/elsewhere", root);
	assert_int_equal(rename(only_file(), nowhere), 0);
	options.dir = NULL;
	check_same(false);
	unlink(nowhere);
}

/* As somebody to whom permissions apply. */
static void read_only_folder(void **context)
{
	int status;
	pid_t child = fork();

	if (!child) {
		struct model *fresh, *m;

		if (!geteuid() && (chown(root, 65534, 65534) || setgid(65534) || setuid(65534)))
			_exit(2);
		snprintf(path, sizeof(path), "%s/other.dat", root);
		whole_recording(path, 13, 300, true);
		check_same(false);
		chmod(cache_path, 0500);
		check_same(true);
		whole_recording(path, 14, 300, true);
		fresh = open_with(NULL);
		m = open_with(&options);
		same_models(fresh, m);
		model_free(m);
		model_free(fresh);
		if (is_cached())
			_exit(3);
		chmod(cache_path, 0000);
		m = open_with(&options);
		model_free(m);
		chmod(cache_path, 0700);
		unlink(path);
		remove_all(cache_path);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void environment(void **context)
{
	struct cache_options o;

	setenv("XDG_CACHE_HOME", "/somewhere", 1);
	setenv("HOME", "/tmp", 1);
	unsetenv("MEMOIR_CACHE_LIMIT");
	cache_options_init(&o);
	assert_string_equal(o.dir, "/somewhere/memoir");
	assert_int_equal(o.limit, UINT64_MAX);
	cache_options_release(&o);
	setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored, says the specification */
	setenv("MEMOIR_CACHE_LIMIT", "2G", 1);
	cache_options_init(&o);
	assert_string_equal(o.dir, "/tmp/.cache/memoir");
	assert_int_equal(o.limit, 2ull << 30);
	cache_options_release(&o);
	unsetenv("HOME");
	cache_options_init(&o);
	assert_null(o.dir);
	cache_options_release(&o);
	setenv("HOME", "/proc/nonexistent", 1); /* is not made */
	cache_options_init(&o);
	assert_null(o.dir);
	cache_options_release(&o);
	setenv("HOME", "/tmp", 1);
	setenv("MEMOIR_CACHE_LIMIT", "0", 1);
	cache_options_init(&o);
	assert_null(o.dir);
	unsetenv("MEMOIR_CACHE_LIMIT");
}

static void sizes(void **context)
{
	static const char *const wrong[] = { "", "x", "-1", "1x", "1kk", "1 k", "99999999999999T" };
	static const struct {
		const char *text;
		uint64_t size;
	} right[] = { { "0", 0 },
		      { "17", 17 },
		      { "17b", 17 },
		      { "1k", 1024 },
		      { "3M", 3u << 20 },
		      { "3MiB", 3u << 20 },
		      { "16g", 16ull << 30 },
		      { "2T", 2ull << 40 } };
	uint64_t size;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(cache_parse_size(wrong[i], &size));
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_true(cache_parse_size(right[i].text, &size));
		assert_int_equal(size, right[i].size);
	}
}

static void replaced_recording(void **context)
{
	struct timespec same_time[2] = { { 5, 0 }, { 5, 0 } };

	whole_recording(path, 15, 300, true);
	utimensat(AT_FDCWD, path, same_time, 0);
	check_same(false);
	whole_recording(path, 16, 300, true); /* another id */
	utimensat(AT_FDCWD, path, same_time, 0);
	check_same(false);
	whole_recording(path, 15, 200, true); /* the same id, another size */
	utimensat(AT_FDCWD, path, same_time, 0);
	check_same(false);
	whole_recording(path, 15, 300, true); /* as it was */
	utimensat(AT_FDCWD, path, same_time, 0);
	check_same(true);
	same_time[1].tv_nsec = 1; /* the same but for the time */
	utimensat(AT_FDCWD, path, same_time, 0);
	check_same(false);
}

/* While it is open, it changes: what was loaded is not what the file is called. */
static void changed_meanwhile(void **context)
{
	struct model *m;
	struct err err;
	int fd;

	whole_recording(path, 17, 300, true);
	assert_int_equal(model_open_cached(&m, path, &options, &err), 0);
	model_load(m, &(struct model_options){ 0 });
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "more", 4), 4);
	model_finish(m);
	model_free(m);
	close(fd);
	assert_int_equal(count_files(".columns"), 0);
}

static void still_being_written(void **context)
{
	int fd;

	whole_recording(path, 18, 300, false);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	check_same(false);
	check_same(false);
	assert_int_equal(count_files(".columns"), 0);
	/* Its writer was killed: as it is now, it may be cached. */
	close(fd);
	check_same(false);
	check_same(true);
	/* Damaged is the same as cut. */
	fd = open(path, O_RDWR | O_CLOEXEC);
	flip(fd, 200, 1);
	close(fd);
	check_same(false);
	check_same(true);
}

static void small_ones_are_not_worth_it(void **context)
{
	whole_recording(path, 19, 300, true);
	options.least = 1u << 20;
	check_same(false);
	check_same(false);
	assert_int_equal(count_files(".columns"), 0);
}

UNIT(cache)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(cached_is_the_same, setup),
		cmocka_unit_test_setup(random_ones_hold_everything, setup),
		cmocka_unit_test_setup(nothing_at_all, setup),
		cmocka_unit_test_setup(sums_are_right, setup),
		cmocka_unit_test_setup(many_rows, setup),
		cmocka_unit_test_setup(room_is_given_back, setup),
		cmocka_unit_test_setup(spills_without_cache, setup),
		cmocka_unit_test_setup(full_disk, setup),
		cmocka_unit_test_setup(damage_is_seen, setup),
		cmocka_unit_test_setup(wild_indices_are_seen, setup),
		cmocka_unit_test_setup(crash_of_the_system, setup),
		cmocka_unit_test_setup(two_at_once, setup),
		cmocka_unit_test_setup(killed_builder, setup),
		cmocka_unit_test_setup(oldest_goes_first, setup),
		cmocka_unit_test_setup(larger_than_the_limit, setup),
		cmocka_unit_test_setup(folders_that_cannot_be_used, setup),
		cmocka_unit_test_setup(read_only_folder, setup),
		cmocka_unit_test_setup(environment, setup),
		cmocka_unit_test_setup(sizes, setup),
		cmocka_unit_test_setup(replaced_recording, setup),
		cmocka_unit_test_setup(changed_meanwhile, setup),
		cmocka_unit_test_setup(still_being_written, setup),
		cmocka_unit_test_setup(small_ones_are_not_worth_it, setup),
	};
	int failed;

	setenv("MEMOIR_THREADS", "3", 1);
	if (!mkdtemp(root))
		return 1;
	snprintf(cache_path, sizeof(cache_path), "%s/cache", root);
	snprintf(path, sizeof(path), "%s/app.dat", root);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_all(cache_path);
	unlink(path);
	rmdir(root);
	return failed;
}
