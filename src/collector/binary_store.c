/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of binaries, kept for others.  See binary_store.h. */
#include "collector/binary_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_type.h"
#include "base/xalloc.h"

struct binary_store {
	int cache, shared; /* folders, or -1 */
	char *shared_path; /* NULL: nothing is to be shared */
	uint64_t limit;	   /* of the cache */
	bool grown;	   /* so is the cache */
};

struct binary_store *binary_store_new(const char *recording, bool cached)
{
	struct binary_store *s = xcalloc(1, sizeof(*s));
	const char *slash = recording ? strrchr(recording, '/') : NULL;
	struct cache_options o;

	s->cache = s->shared = -1;
	cache_options_init(&o);
	s->limit = o.limit;
	if (o.dir && cached)
		s->cache = cache_dir_open(o.dir, true);
	cache_options_release(&o);
	if (slash)
		s->shared_path = xasprintf("%.*s/" FORMAT_SHARED_FOLDER, (int)(slash - recording),
					   recording);
	return s;
}

struct binary_store *binary_store_free(struct binary_store *s)
{
	if (!s)
		return NULL;
	if (s->grown)
		cache_dir_tidy(s->cache, s->limit, NULL);
	if (s->cache >= 0)
		close(s->cache);
	if (s->shared >= 0)
		close(s->shared);
	free(s->shared_path);
	free(s);
	return NULL;
}

bool binary_store_shares(const struct binary_store *s)
{
	return s->shared_path;
}

/* The folder of shared files, made when it is first needed; -1: there is none. */
static int shared_folder(struct binary_store *s)
{
	if (s->shared >= 0 || !s->shared_path)
		return s->shared;
	s->shared = cache_dir_open(s->shared_path, true);
	if (s->shared < 0) {
		s->shared = -1;
		free(s->shared_path);
		s->shared_path = NULL;
	}
	return s->shared;
}

static void cached_name(char *name, const char *key)
{
	snprintf(name, CACHE_NAME_MAX, "%.*s" CACHE_TABLES_SUFFIX, FORMAT_SHARED_KEY_MAX, key);
}

static void shared_name(char *name, const char *key)
{
	snprintf(name, CACHE_NAME_MAX, "%.*s" FORMAT_SHARED_SUFFIX, FORMAT_SHARED_KEY_MAX, key);
}
_Static_assert(FORMAT_SHARED_KEY_MAX + sizeof(CACHE_TABLES_SUFFIX ".tmp-0123456789abcdef") <=
			       CACHE_NAME_MAX &&
		       sizeof(FORMAT_SHARED_SUFFIX) <= sizeof(CACHE_TABLES_SUFFIX) + 1,
	       "a name fits");

/* One that a crash of the system has left without its content is removed. */
static int find_complete(int dir, const char *name)
{
	int fd = cache_dir_find(dir, name);
	struct pieces p;

	if (fd < 0)
		return -1;
	if (pieces_open(&p, fd)) {
		pieces_release(&p);
		return fd;
	}
	unlinkat(dir, name, 0);
	close(fd);
	return -1;
}

int binary_store_find(struct binary_store *s, const char *key)
{
	char name[CACHE_NAME_MAX];
	int fd = -1, shared = shared_folder(s);

	shared_name(name, key);
	if (shared >= 0)
		fd = find_complete(shared, name);
	if (fd < 0 && s->cache >= 0) {
		cached_name(name, key);
		fd = find_complete(s->cache, name);
	}
	return fd;
}

static int copy_all(int from, int to)
{
	auto_release(pieces_release) struct pieces p = { 0 };
	auto_release(pieces_writer_release) struct pieces_writer w = { .fd = to };
	auto_buf struct buf frame = { 0 };
	bool fine = pieces_open(&p, from);

	for (uint32_t i = 0; fine && !w.error && i < p.count; i++) {
		fine = pieces_stored(&p, i, &frame);
		if (fine)
			pieces_add(&w, frame.data, frame.size, pieces_raw_size(&p, i));
	}
	if (fine)
		fine = pieces_finish(&w) == 0;
	return fine ? 0 : -EIO;
}

/* On another file system, or one that has no links. */
static bool share_copy(struct binary_store *s, const char *name, int fd)
{
	char temporary[CACHE_NAME_MAX];
	int to = cache_dir_temporary(s->shared, name, temporary), error;

	if (to < 0)
		return false;
	error = copy_all(fd, to);
	if (!error)
		error = cache_dir_commit(s->shared, temporary, name);
	if (error)
		unlinkat(s->shared, temporary, 0);
	close(to);
	return !error || error == -EEXIST;
}

bool binary_store_share(struct binary_store *s, const char *key, int fd)
{
	char name[CACHE_NAME_MAX], cached[CACHE_NAME_MAX];

	if (shared_folder(s) < 0)
		return false;
	shared_name(name, key);
	cached_name(cached, key);
	if (!faccessat(s->shared, name, R_OK, 0))
		return true;
	if (s->cache >= 0 && (!linkat(s->cache, cached, s->shared, name, 0) || errno == EEXIST))
		return true;
	return share_copy(s, name, fd);
}

/* Where new files are made: in the cache, else among the shared ones. */
static int folder_of(struct binary_store *s, const char *key, char *name)
{
	if (s->cache >= 0) {
		cached_name(name, key);
		return s->cache;
	}
	shared_name(name, key);
	return shared_folder(s);
}

int binary_store_begin(struct binary_store *s, const char *key, bool patient,
		       struct binary_build *b)
{
	char name[CACHE_NAME_MAX];
	int dir = folder_of(s, key, name);

	*b = (struct binary_build){ .claim = -1, .writer.fd = -1 };
	if (dir < 0)
		return -ENOENT;
	if (patient) {
		b->claim = cache_dir_claim(dir, name);
		if (b->claim < 0)
			return b->claim;
	}
	b->writer.fd = cache_dir_temporary(dir, name, b->temporary);
	if (b->writer.fd >= 0)
		return 0;
	if (b->claim >= 0)
		cache_dir_give_up_claim(dir, name, b->claim);
	return b->writer.fd;
}

int binary_store_end(struct binary_store *s, const char *key, struct binary_build *b, bool whole)
{
	char name[CACHE_NAME_MAX];
	int dir = folder_of(s, key, name), error = whole ? pieces_finish(&b->writer) : -ECANCELED;

	if (!error)
		error = cache_dir_commit(dir, b->temporary, name);
	if (error)
		unlinkat(dir, b->temporary, 0);
	if (error == -EEXIST)
		error = 0;
	close(b->writer.fd);
	pieces_writer_release(&b->writer);
	if (b->claim >= 0)
		cache_dir_give_up_claim(dir, name, b->claim);
	s->grown |= dir == s->cache && !error;
	return error;
}
