/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files beside a recording.  See shared_file.h. */
#include "recording/shared_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/cache_dir.h"
#include "base/pieces.h"
#include "base/xalloc.h"

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* May it be a part of a file's name?  It comes from the recording. */
static bool shared_key_is_good(const char *key)
{
	size_t size = strspn(key, "0123456789abcdefghijklmnopqrstuvwxyz-");

	return size && !key[size] && size <= FORMAT_SHARED_KEY_MAX;
}

/* By the descriptor: whatever it was opened by, and wherever it has been moved since. */
bool shared_folder(const struct reader *r, struct buf *out)
{
	char link[40], path[PATH_MAX];
	ssize_t n;
	char *slash;

	buf_clear(out);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", r->fd);
	n = r->fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	buf_printf(out, "%.*s/" FORMAT_SHARED_FOLDER, (int)(slash - path), path);
	return true;
}

static int open_beside(const struct reader *r, const char *key)
{
	auto_buf struct buf path = { 0 };
	int fd = -1;

	if (shared_folder(r, &path)) {
		buf_printf(&path, "/%s" FORMAT_SHARED_SUFFIX, key);
		fd = open(path.data, FLAGS);
	}
	return fd;
}

static int open_cached(const char *key)
{
	char name[CACHE_NAME_MAX];
	struct cache_options o;
	int dir = -1, fd = -1;

	cache_options_init(&o);
	if (o.dir)
		dir = cache_dir_open(o.dir, false);
	cache_options_release(&o);
	if (dir < 0)
		return -1;
	snprintf(name, sizeof(name), "%s" CACHE_TABLES_SUFFIX, key);
	fd = cache_dir_find(dir, name);
	close(dir);
	return fd < 0 ? -1 : fd;
}

int shared_file_open(const struct reader *r, const char *key)
{
	int fd;

	if (!shared_key_is_good(key))
		return -1;
	fd = open_beside(r, key);
	return fd >= 0 ? fd : open_cached(key);
}

bool shared_file_read(const struct reader *r, const char *key, uint64_t size, struct buf *out)
{
	auto_close int fd = shared_file_open(r, key);
	struct pieces p;
	bool fine;

	if (fd < 0 || !pieces_open(&p, fd))
		return false;
	fine = p.total == size && pieces_unpack(&p, size, out);
	pieces_release(&p);
	return fine;
}
