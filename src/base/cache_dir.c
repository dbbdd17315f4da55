/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The folder of caches.  See cache_dir.h. */
#include "base/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/order.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define TEMPORARY ".tmp-"
#define LIMIT_MOST ((uint64_t)16 << 30)
#define LIMIT_SHARE 10 /* one tenth of the disk */
#define LEAST 100000

/* What is tidied away; nothing else in the folder is touched. */
static const char *const suffixes[] = {
	".columns", /* of recordings */
	".places",  /* of names */
	".verdicts",
	".frees", /* their order */
	".peaks", /* of stacks */
	CACHE_TABLES_SUFFIX,
};
#define SUFFIXES (sizeof(suffixes) / sizeof(suffixes[0]))

bool cache_parse_size(const char *text, uint64_t *ret_size)
{
	static const char units[] = "kmgt";
	const char *unit;
	char *end;
	uint64_t value;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
		if (*end == 'i')
			end++;
	}
	if ((*end | 0x20) == 'b')
		end++;
	if (*end || value > UINT64_MAX >> shift)
		return false;
	*ret_size = value << shift;
	return true;
}

void cache_options_init(struct cache_options *o)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *limit = getenv("MEMOIR_CACHE_LIMIT");

	*o = (struct cache_options){ .limit = UINT64_MAX, .least = LEAST };
	if (base && *base == '/')
		o->dir = xasprintf("%s/memoir", base);
	else if (home && *home == '/' && !access(home, X_OK)) /* not one that there is not */
		o->dir = xasprintf("%s/.cache/memoir", home);
	if (limit && !cache_parse_size(limit, &o->limit))
		o->limit = UINT64_MAX;
	if (!o->limit)
		cache_options_release(o);
}

void cache_options_release(struct cache_options *o)
{
	free(o->dir);
	o->dir = NULL;
}

/* The folder and the one that it is in, which is to be for all caches; not the user's home. */
static void make_path(const char *path)
{
	auto_free char *above = xstrdup(path);
	char *slash = strrchr(above, '/');

	if (slash && slash != above) {
		*slash = 0;
		mkdir(above, 0700);
	}
	mkdir(path, 0700);
}

int cache_dir_open(const char *path, bool make)
{
	struct stat st;
	int fd;

	if (make)
		make_path(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int cache_dir_temporary(int dir, const char *name, char *ret_temporary)
{
	/* A process that tidies up between open and lock takes it for a dead builder's. */
	for (unsigned attempt = 0; attempt < 16; attempt++) {
		uint64_t random = (uint64_t)getpid() << 32 | attempt;
		struct stat st;
		int fd;

		(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
		snprintf(ret_temporary, CACHE_NAME_MAX, "%s" TEMPORARY "%016" PRIx64, name, random);
		fd = openat(dir, ret_temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink)
			return fd;
		unlinkat(dir, ret_temporary, 0);
		close(fd);
	}
	return -EAGAIN;
}

int cache_dir_claim(int dir, const char *name)
{
	char lock[CACHE_NAME_MAX];

	snprintf(lock, sizeof(lock), "%s" TEMPORARY "lock", name);
	for (unsigned attempt = 0; attempt < 16; attempt++) {
		int fd = openat(dir, lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
				0600);
		struct stat st;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			int error = errno == EWOULDBLOCK ? -EBUSY : -errno;

			close(fd);
			return error;
		}
		/* Its last owner may have removed it meanwhile. */
		if (fstat(fd, &st) == 0 && st.st_nlink)
			return fd;
		close(fd);
	}
	return -EAGAIN;
}

void cache_dir_give_up_claim(int dir, const char *name, int claim)
{
	char lock[CACHE_NAME_MAX];

	snprintf(lock, sizeof(lock), "%s" TEMPORARY "lock", name);
	unlinkat(dir, lock, 0);
	close(claim);
}

int cache_dir_commit(int dir, const char *temporary, const char *name)
{
	if (renameat2(dir, temporary, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without that: two files of one name are as good as each other. */
	return renameat(dir, temporary, dir, name) < 0 ? -errno : 0;
}

int cache_dir_find(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	futimens(fd, NULL);
	return fd;
}

struct entry {
	char *name;
	struct timespec used;
	uint64_t size; /* on disk */
};

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), n = strlen(end);

	return size > n && !strcmp(text + size - n, end);
}

static bool is_cached(const char *name)
{
	return ANY(i, SUFFIXES, ends_with(name, suffixes[i]));
}

static bool is_temporary(const char *name)
{
	for (size_t i = 0; i < SUFFIXES; i++) {
		const char *at = strstr(name, suffixes[i]);

		if (at && !strncmp(at + strlen(suffixes[i]), TEMPORARY, strlen(TEMPORARY)))
			return true;
	}
	return false;
}

/* Nobody builds it any more? */
static bool is_abandoned(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

ORDER(by_use, struct entry, RISING(used.tv_sec) ?: RISING(used.tv_nsec) ?: strcmp(x->name, y->name))

uint64_t cache_dir_limit(int dir, uint64_t limit)
{
	struct statvfs v;
	uint64_t share = LIMIT_MOST;

	if (limit != UINT64_MAX)
		return limit;
	if (fstatvfs(dir, &v) == 0 && v.f_blocks)
		share = v.f_blocks * (uint64_t)v.f_frsize / LIMIT_SHARE;
	return share < LIMIT_MOST ? share : LIMIT_MOST;
}

static size_t list(int dir, struct entry **ret_entries, unsigned *removed)
{
	struct entry *entries = NULL;
	size_t count = 0, room = 0;
	struct dirent *e;
	/* A descriptor of its own, since readdir() moves it. */
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);

	while (stream && (e = readdir(stream))) {
		struct stat st;

		if (is_temporary(e->d_name)) {
			if (is_abandoned(dir, e->d_name) && unlinkat(dir, e->d_name, 0) == 0)
				++*removed;
			continue;
		}
		if (!is_cached(e->d_name) ||
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		*xpush(entries, count, room) = (struct entry){ xstrdup(e->d_name), st.st_mtim,
							       (uint64_t)st.st_blocks * 512 };
	}
	if (stream)
		closedir(stream);
	else if (copy >= 0)
		close(copy);
	*ret_entries = entries;
	return count;
}

unsigned cache_dir_tidy(int dir, uint64_t limit, const char *keep)
{
	auto_free struct entry *entries = NULL;
	unsigned removed = 0;
	size_t count = list(dir, &entries, &removed);
	uint64_t sum = 0;

	limit = cache_dir_limit(dir, limit);
	for (size_t i = 0; i < count; i++)
		sum += entries[i].size;
	SORT(entries, count, by_use);
	for (size_t i = 0; i < count; i++) {
		if (sum > limit && (!keep || strcmp(entries[i].name, keep) != 0) &&
		    unlinkat(dir, entries[i].name, 0) == 0) {
			sum -= entries[i].size;
			removed++;
		}
		free(entries[i].name);
	}
	return removed;
}

void cache_dir_put(int dir, const char *name, const struct iovec *parts, unsigned count,
		   uint64_t limit)
{
	char temporary[CACHE_NAME_MAX];
	uint64_t size = 0;
	bool whole = true;
	int fd;

	for (unsigned i = 0; i < count; i++)
		size += parts[i].iov_len;
	fd = size <= cache_dir_limit(dir, limit) ? cache_dir_temporary(dir, name, temporary) : -1;
	if (fd < 0)
		return;
	size = 0;
	for (unsigned i = 0; i < count && whole; i++) {
		whole = !write_at(fd, parts[i].iov_base, parts[i].iov_len, size);
		size += parts[i].iov_len;
	}
	if (whole && cache_dir_commit(dir, temporary, name) == -EEXIST) {
		unlinkat(dir, name, 0);
		whole = cache_dir_commit(dir, temporary, name) == 0;
	}
	if (!whole)
		unlinkat(dir, temporary, 0);
	close(fd);
	cache_dir_tidy(dir, limit, name);
}
